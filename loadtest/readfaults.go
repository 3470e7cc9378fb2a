package loadtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rankgate/loadtest/servers"
)

// hurtFor is how long a fault of the reads scenarios lasts: long enough that what was answered before has gone stale, and
// that every breaker has opened and tried again.
const hurtFor = 3 * time.Second

// away kills a server for a while.
func (t *trial) away(ctx context.Context, server *servers.Process) {
	server.Kill()
	t.wait(ctx, hurtFor)
	server.Restart()
}

// silent stops a server's clock for a while.
func (t *trial) silent(ctx context.Context, server *servers.Process) {
	server.Freeze()
	t.wait(ctx, hurtFor)
	server.Thaw()
}

func redisAway(ctx context.Context, t *trial)   { t.away(ctx, t.rig.redis.Process) }
func redisSilent(ctx context.Context, t *trial) { t.silent(ctx, t.rig.redis.Process) }

// redisSlow has every reply come 200 ms later.
func redisSlow(ctx context.Context, t *trial) {
	t.rig.toRedis.Delay(200 * time.Millisecond)
	t.wait(ctx, hurtFor)
	t.rig.toRedis.Delay(0)
}

// redisStalls has it stand still for 200 ms of every second.
func redisStalls(ctx context.Context, t *trial) {
	for range hurtFor / time.Second {
		t.rig.redis.Freeze()
		t.wait(ctx, 200*time.Millisecond)
		t.rig.redis.Thaw()
		t.wait(ctx, 800*time.Millisecond)
	}
}

// redisResets resets connections ten times a second.
func redisResets(ctx context.Context, t *trial) {
	for range hurtFor / (100 * time.Millisecond) {
		t.rig.toRedis.Cut()
		t.wait(ctx, 100*time.Millisecond)
	}
}

// redisFull has no memory for writes.
func redisFull(ctx context.Context, t *trial) {
	t.rig.redis.Do("CONFIG", "SET", "maxmemory", "1")
	t.wait(ctx, hurtFor)
	t.rig.redis.Do("CONFIG", "SET", "maxmemory", "0")
}

// redisReadOnly makes it the replica of a master that is not there.
func redisReadOnly(ctx context.Context, t *trial) {
	t.rig.redis.Do("REPLICAOF", "127.0.0.1", "1")
	t.wait(ctx, hurtFor)
	t.rig.redis.Do("REPLICAOF", "NO", "ONE")
}

func logAway(ctx context.Context, t *trial)   { t.away(ctx, t.rig.nats.Process) }
func logSilent(ctx context.Context, t *trial) { t.silent(ctx, t.rig.nats.Process) }

// bothAway kills Redis and the log's server for a while.
func bothAway(ctx context.Context, t *trial) {
	t.rig.redis.Kill()
	logAway(ctx, t)
	t.rig.redis.Restart()
}

// bothSilent stops the clocks of both.
func bothSilent(ctx context.Context, t *trial) {
	t.rig.redis.Freeze()
	logSilent(ctx, t)
	t.rig.redis.Thaw()
}

// masterAway kills one of the cluster's masters, which nobody replaces.
func masterAway(ctx context.Context, t *trial) {
	t.away(ctx, t.master().Process)
	t.rig.cluster.AwaitOK(t.rig.host)
}

// masterSilent stops the clock of one of the cluster's masters.
func masterSilent(ctx context.Context, t *trial) {
	t.silent(ctx, t.master().Process)
	t.rig.cluster.AwaitOK(t.rig.host)
}

func (t *trial) master() *servers.RedisServer {
	return t.rig.cluster.Masters[t.rng.IntN(len(t.rig.cluster.Masters))]
}

// masterReplaced kills a master and returns when its replica has taken over; the old one comes back as its replica.
func masterReplaced(_ context.Context, t *trial) {
	c := t.rig.cluster
	i := t.rng.IntN(len(c.Masters))
	master, replica := c.Masters[i], c.Replicas[i]
	t.rig.await("the replica to be in step", func() error { return replica.Says("REPLICATION", "master_link_status:up") })
	master.Kill()
	t.rig.await("the replica to take over", func() error { return replica.Says("REPLICATION", "role:master") })
	c.Masters[i], c.Replicas[i] = replica, master
	master.Relaunch()
}

// startReads starts what the reads scenarios run on: a gateway, a core, NATS, and Redis or a cluster of four masters
// that go on without each other, or of three with replicas.
func (r *rig) startReads(l layout, seed uint64, cfg *GateConfig) {
	r.nats = servers.NATS(r.host)
	r.toNATS = NewProxy(r.host, hostPort(r.nats.URL), seed+1)
	cfg.Log = "nats://" + r.toNATS.Addr
	own := append(redisOptions(), servers.With("appendfsync", "always"))
	switch l {
	case fourMasters:
		r.cluster = servers.RedisCluster(r.host, 4, 0, append(own, servers.With("cluster-require-full-coverage", "no"))...)
		cfg.Store = r.cluster.URL
	case replaced:
		r.cluster = servers.RedisCluster(r.host, 3, 3, append(own, servers.With("cluster-require-full-coverage", "no"))...)
		cfg.Store = r.cluster.URL
	default:
		r.redis = servers.Redis(r.host, own...)
		r.toRedis = NewProxy(r.host, r.redis.Addr, seed)
		cfg.Store = "redis://" + r.toRedis.Addr + "/0"
	}
}

// footprint is what a process holds: goroutines and open files, most of which are connections.
type footprint struct{ goroutines, files float64 }

func (g *Gate) footprint() footprint {
	return footprint{g.metric("go_goroutines"), g.metric("process_open_fds")}
}

// footprints are those of all gates, and together.
func (r *rig) footprints() (each []footprint, all footprint) {
	for _, g := range r.gates {
		f := g.footprint()
		each = append(each, f)
		all.goroutines, all.files = all.goroutines+f.goroutines, all.files+f.files
	}
	return each, all
}

// returns waits until no gate holds more than before, but for what comes and goes.
func (r *rig) returns(before []footprint) (all footprint, wrong string) {
	const goes = 6
	deadline := time.Now().Add(comesBack)
	for {
		var now []footprint
		now, all = r.footprints()
		more := slices.IndexFunc(now, func(f footprint) bool { return f.goroutines == 0 }) // it did not answer
		for i, f := range now {
			if f.goroutines > before[i].goroutines+goes || f.files > before[i].files+goes {
				more = i
			}
		}
		if more < 0 {
			return all, ""
		}
		if time.Now().After(deadline) {
			return all, fmt.Sprintf("goroutines and open files of %s: %v, after %v at first", r.gates[more].URL, now[more], before[more])
		}
		<-time.After(100 * time.Millisecond)
	}
}
