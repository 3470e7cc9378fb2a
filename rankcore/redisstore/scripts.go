package redisstore

import (
	"context"
	"crypto/sha1" // it is how Redis names scripts, and protects nothing
	"embed"
	"encoding/hex"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is one Lua script and its name on a server.
type script struct{ name, body, sha string }

// The scripts. The first line is a promise to Redis: without flags a script is refused before it starts when
// memory is short, where it would else fail between two writes; and no-writes may run even then.
var (
	applyScript    = loadScript("apply", "#!lua\n", "shard.lua", "segment.lua", "apply.lua", "work.lua", "moves.lua", "write.lua")
	resetScript    = loadScript("reset", "#!lua\n", "shard.lua", "reset.lua")
	auditScript    = loadScript("audit", readOnly, "shard.lua", "audit.lua")
	outcomesScript = loadScript("outcomes", readOnly, "shard.lua", "outcomes.lua")
	ownScript      = loadScript("own", readOnly, "own.lua")
	aboutScript    = loadScript("about", readOnly, "about.lua")
)

const readOnly = "#!lua flags=no-writes\n"

// loadScript joins files to one script, named after what it is for.
func loadScript(name, shebang string, files ...string) script {
	body := shebang
	for _, file := range files {
		text, err := luaFiles.ReadFile("lua/" + file)
		if err != nil {
			panic(err) // the file is named here and embedded above
		}
		body += string(text)
	}
	sum := sha1.Sum([]byte(body))
	return script{name: name, body: body, sha: hex.EncodeToString(sum[:])}
}

// call is one run of a script on one shard. The first key decides the node.
type call struct {
	keys []string
	args []any
}

// run sends all calls in one pipeline for each node and waits for the replies, which stand in the order of calls.
// A node that does not know the script gets its body in a second round: all that SCRIPT FLUSH, a restart or a
// failover ever costs. Sending twice is safe because Redis did not run what it did not know.
func (s *Store) run(ctx context.Context, client redis.UniversalClient, sc script, calls []call) []*redis.Cmd {
	begun := time.Now()
	cmds := make([]*redis.Cmd, len(calls))
	pipe := client.Pipeline()
	for i, c := range calls {
		cmds[i] = pipe.EvalSha(ctx, sc.sha, c.keys, c.args...)
	}
	_, err := pipe.Exec(ctx) // the first error; every reply carries its own
	again := client.Pipeline()
	for i, c := range calls {
		if redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") {
			cmds[i] = again.Eval(ctx, sc.body, c.keys, c.args...)
		}
	}
	if again.Len() > 0 {
		_, err = again.Exec(ctx)
		s.metrics.unknownScripts.Inc()
	}
	relearn(ctx, client, err)
	s.metrics.calls.WithLabelValues(sc.name).Observe(time.Since(begun).Seconds())
	return cmds
}

// relearn asks a cluster anew who its masters are when one did not answer: it may have been replaced, and
// go-redis would believe in it for ten seconds more.
func relearn(ctx context.Context, client redis.UniversalClient, err error) {
	if cluster, ok := client.(*redis.ClusterClient); ok && err != nil && !isReply(err) {
		cluster.ReloadState(ctx)
	}
}
