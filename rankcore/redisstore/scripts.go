package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is how Redis names scripts, not a protection
	"embed"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is one Lua script and its name on a server.
type script struct{ body, sha string }

// The scripts. The first line is a promise to Redis: without flags a script is refused before it starts when
// memory is short, where it would else fail between two writes; and no-writes may run even then.
var (
	applyScript    = loadScript("#!lua\n", "shard.lua", "apply.lua", "work.lua", "write.lua")
	resetScript    = loadScript("#!lua\n", "shard.lua", "reset.lua")
	auditScript    = loadScript(readOnly, "shard.lua", "audit.lua")
	outcomesScript = loadScript(readOnly, "shard.lua", "outcomes.lua")
	topScript      = loadScript(readOnly, "top.lua")
	membersScript  = loadScript(readOnly, "members.lua")
	countScript    = loadScript(readOnly, "count.lua")
	ownScript      = loadScript(readOnly, "own.lua")
)

const readOnly = "#!lua flags=no-writes\n"

func loadScript(shebang string, files ...string) script {
	body := shebang
	for _, name := range files {
		text, err := luaFiles.ReadFile("lua/" + name)
		if err != nil {
			panic(err) // the file is named here and embedded above
		}
		body += string(text)
	}
	sum := sha1.Sum([]byte(body)) //nolint:gosec // see the import
	return script{body: body, sha: hex.EncodeToString(sum[:])}
}

// call is one run of a script on one shard. The first key decides the node.
type call struct {
	keys []string
	args []any
}

// run sends all calls in one pipeline for each node and waits for the replies, which stand in the order of calls.
// A node that does not know the script gets its body in a second round: all that SCRIPT FLUSH, a restart or a
// failover ever costs. Sending twice is safe because Redis did not run what it did not know.
func run(ctx context.Context, client redis.UniversalClient, s script, calls []call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	pipe := client.Pipeline()
	for i, c := range calls {
		cmds[i] = pipe.EvalSha(ctx, s.sha, c.keys, c.args...)
	}
	_, _ = pipe.Exec(ctx) // every reply carries its own error
	again := client.Pipeline()
	for i, c := range calls {
		if redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") {
			cmds[i] = again.Eval(ctx, s.body, c.keys, c.args...)
		}
	}
	if again.Len() > 0 {
		_, _ = again.Exec(ctx)
	}
	relearn(ctx, client, cmds)
	return cmds
}

// relearn asks a cluster anew who its masters are when one did not answer: it may have been replaced, and
// go-redis would believe in it for ten seconds more.
func relearn(ctx context.Context, client redis.UniversalClient, cmds []*redis.Cmd) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return
	}
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && !isReply(err) {
			cluster.ReloadState(ctx)
			return
		}
	}
}
