package ingest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
	"rankgate/rankcore/countindex"
)

// indexedRig is a board on Redis with a count index.
type indexedRig struct {
	*redisRig
	index *countindex.Index
}

func newIndexedRig(t *testing.T) indexedRig {
	t.Helper()
	r := indexedRig{redisRig: newRedisRig(t)}
	r.stop()
	r.index = countindex.New(countindex.Config{Boards: []*rankcore.Board{r.board}, Logger: r.logger})
	running(t, func(ctx context.Context) error { return r.index.Run(ctx, r.store) })
	r.applier, r.stop = r.runApplier(r.log, r.board, r.index.Follow(r.store))
	r.registry = prometheus.NewRegistry()
	r.auditor = NewAuditor(AuditorConfig{
		Log: r.log, Boards: []*rankcore.Board{r.board}, Shards: r.store, Index: r.index.Against(r.store),
		Pass: patience / 1000, Logger: r.logger, Registerer: r.registry,
	})
	r.ready()
	return r
}

func (r indexedRig) ready() {
	r.t.Helper()
	eventually(r.t, func() string { return r.index.State(r.board.ID).Why })
}

// spoil moves a user of shard 0 from one score below 64 to another behind the index's back: the shard itself is right.
func (r indexedRig) spoil(user string, from, to int) {
	r.t.Helper()
	r.redis.Do("EVAL", `
		redis.call("ZADD", KEYS[1], "XX", -ARGV[3], ARGV[1])
		if redis.call("HINCRBY", KEYS[2], ARGV[2], -1) == 0 then
			redis.call("HDEL", KEYS[2], ARGV[2]) -- a shard keeps no zeros, and an audit would find one
		end
		redis.call("HINCRBY", KEYS[2], ARGV[3], 1)`,
		"2", r.key(0, "all:main"), r.key(0, "all:segment"), user, fmt.Sprint(from), fmt.Sprint(to))
}

// inShard is the n-th user of shard 0, and the score that the rig gave it.
func (r indexedRig) inShard(n int) (user string, score int) {
	for i := range 400 {
		if user = fmt.Sprint("user", i); r.board.Shard(rankcore.UserID(user)) == 0 {
			if n--; n < 0 {
				return user, i % 7
			}
		}
	}
	r.t.Fatal("no such user")
	return "", 0
}

// TestVerifyHoldsTheIndexAgainstTheShards: an index that has other counts than the shards together is found, built anew
// with repair, and then right. It is not compared with shards that are wrong themselves.
func TestVerifyHoldsTheIndexAgainstTheShards(t *testing.T) {
	r := newIndexedRig(t)
	expect(t, verify(t, r.auditor, r.board, false))
	user, score := r.inShard(0)
	r.spoil(user, score, 40)
	had := 400 / 7
	if score < 400%7 {
		had++
	}
	drift := fmt.Sprintf("-1 index %d/%d", had, had)
	expect(t, verify(t, r.auditor, r.board, false), drift)

	r.redis.Do("HINCRBY", r.key(1, "all:segment"), "60", "1")
	expect(t, verify(t, r.auditor, r.board, false), "1 segments 1/0")
	expect(t, verify(t, r.auditor, r.board, true), drift+" repaired", "1 segments 1/0 repaired")
	r.ready()
	expect(t, verify(t, r.auditor, r.board, false))
	if got, repaired := r.counted("drift_total"), r.counted("repaired_total"); got != 4 || repaired != 2 {
		t.Errorf("%v findings and %v repairs were counted", got, repaired)
	}
}

// TestPatrolRepairsTheIndex: the audit that runs all the time finds an index that is wrong while the board is written
// to, has it built anew, and finds nothing else.
func TestPatrolRepairsTheIndex(t *testing.T) {
	r := newIndexedRig(t)
	r.auditor.share, r.auditor.every = 0, time.Millisecond // a busy board lags, and each look at one would wait
	victim, score := r.inShard(0)
	writing, stop := context.WithCancel(t.Context())
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := 0; writing.Err() == nil; i++ {
			if user := fmt.Sprint("user", i%500); user != victim {
				mustAppend(t, r.log, r.board, add("", user, int64(i%90)), add("", "somebody", 1))
			}
		}
	}()
	running(t, r.auditor.Run)
	passes := func(n float64) {
		t.Helper()
		eventually(t, func() string {
			if got := r.counted("shards_total"); got < n {
				return fmt.Sprintf("%v shards were audited, want %v", got, n)
			}
			return ""
		})
	}
	passes(40)
	if drift := r.counted("drift_total"); drift != 0 {
		t.Errorf("%v findings on a board that is right and busy", drift)
	}
	r.spoil(victim, score, 40)
	eventually(t, func() string {
		if r.counted("repaired_total") == 0 {
			return "no repair"
		}
		return r.index.State(r.board.ID).Why
	})
	passes(r.counted("shards_total") + 12)
	stop()
	<-written
	if drift, failed := r.counted("drift_total"), r.counted("failures_total"); drift != 1 || failed != 0 {
		t.Errorf("%v findings and %v failures, want the one that was made", drift, failed)
	}
	expect(t, verify(t, r.auditor, r.board, false))
}
