package loadtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rankgate/loadtest/servers"
)

// killRedis kills the master; its append-only file keeps what it had written.
func killRedis(ctx context.Context, t *trial) {
	t.rig.redis.Kill()
	t.wait(ctx, t.hold())
	t.rig.redis.Restart()
	t.rig.follow()
}

// emptyRedis kills the master and loses its disk.
func emptyRedis(ctx context.Context, t *trial) {
	t.rig.redis.Kill()
	t.must(os.RemoveAll(filepath.Join(t.rig.redis.Dir(), "appendonlydir")))
	t.wait(ctx, t.hold())
	t.rig.redis.Restart()
	t.rig.follow()
}

// freezeRedis stops the master's clock; connections stay open and nothing answers.
func freezeRedis(ctx context.Context, t *trial) {
	t.rig.redis.Freeze()
	t.wait(ctx, t.hold())
	t.rig.redis.Thaw()
}

// restoreRedis takes a dump, lets writes go on, and starts the master again from the dump.
func restoreRedis(ctx context.Context, t *trial) {
	r := t.rig.redis
	r.Do("SAVE")
	dump, err := os.ReadFile(filepath.Join(r.Dir(), "dump.rdb"))
	t.must(err)
	t.wait(ctx, t.hold())
	r.Kill()
	// A server with an append-only file reads no dump, but its file may begin with one.
	files := filepath.Join(r.Dir(), "appendonlydir")
	t.must(os.RemoveAll(files))
	t.must(os.Mkdir(files, 0o700))
	const base = "appendonly.aof.1.base.rdb"
	t.must(os.WriteFile(filepath.Join(files, base), dump, 0o600))
	t.must(os.WriteFile(filepath.Join(files, "appendonly.aof.manifest"), []byte("file "+base+" seq 1 type b\n"), 0o600))
	r.Restart()
	t.rig.follow()
}

// flushRedis empties the master while it runs.
func flushRedis(ctx context.Context, t *trial) {
	t.rig.redis.Do("FLUSHALL")
	t.wait(ctx, t.hold())
}

// deleteKey deletes one key of a kind that the seed chooses.
func deleteKey(ctx context.Context, t *trial) {
	kinds := []string{":main", ":segment", ":aside", "}:meta", "}:index", "}:hidden", "}:ids:"}
	kind := kinds[t.rng.IntN(len(kinds))]
	var keys []string
	for _, key := range t.rig.keys("rank:*") {
		if strings.Contains(key, kind) {
			keys = append(keys, key)
		}
	}
	if len(keys) > 0 {
		key := keys[t.rng.IntN(len(keys))]
		t.say("deletes %s", key)
		t.rig.redis.Do("UNLINK", key)
	}
	t.wait(ctx, t.hold())
}

// failOver cuts the replica off, lets writes go on, kills the master, and makes the replica the master. The old
// master comes back as its replica.
func failOver(ctx context.Context, t *trial) {
	t.rig.replica.Do("REPLICAOF", "NO", "ONE") // it keeps what it has got so far
	t.wait(ctx, t.hold())
	t.rig.redis.Kill()
	t.rig.redis, t.rig.replica = t.rig.replica, t.rig.redis
	t.rig.toRedis.Aim(t.rig.redis.Addr)
	t.rig.replica.Restart()
	t.rig.follow()
	t.wait(ctx, t.hold())
}

// follow makes the replica one of the master and returns when it has its data.
func (r *rig) follow() {
	ip, port, _ := strings.Cut(r.redis.Addr, ":")
	r.replica.Do("REPLICAOF", ip, port)
	r.await("the replica to follow", func() error { return r.replica.Says("REPLICATION", "master_link_status:up") })
}

// keys are the master's keys of a pattern, in order.
func (r *rig) keys(pattern string) []string {
	list, _ := r.redis.Do("KEYS", pattern).([]any)
	keys := make([]string, len(list))
	for i, key := range list {
		keys[i], _ = key.(string)
	}
	slices.Sort(keys)
	return keys
}

// segments says where the segment counts of a shard in Redis do not add up to its members, or nil.
func (r *rig) segments() (wrong []string) {
	if r.redis == nil {
		return nil
	}
	for _, key := range r.keys("rank:*:segment") {
		counts, _ := r.redis.Do("HVALS", key).([]any)
		var sum int64
		for _, text := range counts {
			var n int64
			if _, err := fmt.Sscan(fmt.Sprint(text), &n); err != nil || n <= 0 {
				wrong = append(wrong, fmt.Sprintf("%s counts %q", key, text))
			}
			sum += n
		}
		if members := r.redis.Do("ZCARD", strings.TrimSuffix(key, "segment")+"main"); members != sum {
			wrong = append(wrong, fmt.Sprintf("%s counts %d members of %v", key, sum, members))
		}
	}
	return wrong
}

// flushScripts makes every Redis forget its scripts once a second, until ctx ends.
func flushScripts(ctx context.Context, all []*servers.RedisServer) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			for _, r := range all {
				_, _ = r.Try("SCRIPT", "FLUSH") // it may be down
			}
		}
	}
}

// failOverCluster cuts a replica off from its master for a while, then kills the master, which the replica replaces.
func failOverCluster(ctx context.Context, t *trial) {
	c := t.rig.cluster
	i := t.rng.IntN(len(c.Masters))
	master, replica := c.Masters[i], c.Replicas[i]
	replica.Do("CONFIG", "SET", "masterauth", "wrong") // it is refused when it comes back
	replica.Do("CLIENT", "KILL", "TYPE", "master")
	t.wait(ctx, t.hold())
	master.Kill()
	replica.Do("CONFIG", "SET", "masterauth", "")
	t.rig.await("the replica to take over", func() error {
		_, _ = replica.Try("CLUSTER", "FAILOVER", "TAKEOVER") // refused when it has already
		return replica.Says("REPLICATION", "role:master")
	})
	c.Masters[i], c.Replicas[i] = replica, master
	master.Restart()
	t.rig.await("the old master to follow", func() error { return master.Says("REPLICATION", "master_link_status:up") })
	c.AwaitOK(t.rig.host)
}
