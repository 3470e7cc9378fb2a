package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/memstore"
	"rankgate/rankcore/redisstore"
)

// verify is what Verify finds, sorted, one finding as "3 segments 5/1 repaired".
func verify(t *testing.T, a *Auditor, b *rankcore.Board, repair bool) []string {
	t.Helper()
	var list []string
	shards := map[int]bool{}
	err := a.Verify(t.Context(), b, repair, func(found rankcore.Audit, err error) {
		if shards[found.Shard] || err != nil {
			t.Errorf("shard %d, once more: %v, %v", found.Shard, shards[found.Shard], err)
		}
		shards[found.Shard] = true
		for _, d := range found.Drift {
			text := fmt.Sprintf("%d %v %d/%d", found.Shard, d.Kind, d.Recorded, d.Counted)
			if d.Repaired {
				text += " repaired"
			}
			list = append(list, text)
		}
	})
	delete(shards, rankcore.AllShards)
	if err != nil || len(shards) != b.Shards {
		t.Fatalf("%d of %d shards were told, %v", len(shards), b.Shards, err)
	}
	slices.Sort(list)
	return list
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestVerifyHoldsPositionsAgainstTheLog: a shard that has not taken in what the log has is behind, one that an applier
// brings there in time is not, and one at a message that the log does not have is told.
func TestVerifyHoldsPositionsAgainstTheLog(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 2)
	l, stopLog := r.runLog(nil, b)
	store, err := memstore.New(memstore.Config{Boards: []*rankcore.Board{b}, Log: r.logger})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAuditor(AuditorConfig{Log: l, Shards: store, Logger: r.logger})
	<-l.Ready()
	expect(t, verify(t, a, b, false))

	at := mustAppend(t, l, b, add("1", "alice", 1), add("2", "bob", 1))
	a.settle = settleEvery
	expect(t, verify(t, a, b, false), fmt.Sprintf("0 behind 0/%d", at.Seq), fmt.Sprintf("1 behind 0/%d", at.Seq))

	a.settle = patience
	told := make(chan []string)
	go func() { told <- verify(t, a, b, false) }()
	moved, err := r.raw().messageAt(t.Context(), at.Seq)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, b, add("later", "alice", 1))
	for shard := range b.Shards { // one message is left, but they move
		store.Apply(t.Context(), b, []rankcore.Step{{Shard: shard, To: moved.Position}})
	}
	expect(t, <-told)
	go func() { told <- verify(t, a, b, false) }()
	applier, stop := r.runApplier(l, b, store)
	expect(t, <-told)

	mustAppend(t, l, b, add("3", "alice", 1))
	settled(t, applier, r.raw())
	stop()
	stopLog()
	r.putBack("") // another log, which begins anew
	l, _ = r.runLog(nil, b)
	other := mustAppend(t, l, b, add("4", "alice", 1))
	a = NewAuditor(AuditorConfig{Log: l, Shards: store, Logger: r.logger})
	a.settle = settleEvery
	var want []string
	for i, where := range store.Positions(t.Context(), b) {
		have := uint64(0)
		if where.At.Seq <= other.Seq {
			have = where.At.Seq
		}
		want = append(want, fmt.Sprintf("%d position %d/%d", i, where.At.Seq, have))
	}
	expect(t, verify(t, a, b, false), want...)
}

// redisRig is a board on Redis that is applied.
type redisRig struct {
	*rig
	redis    *servers.RedisServer
	board    *rankcore.Board
	log      *Log
	store    *redisstore.Store
	applier  *Applier
	stop     func() // the applier
	registry *prometheus.Registry
	auditor  *Auditor
}

func newRedisRig(t *testing.T) *redisRig {
	t.Helper()
	r := &redisRig{rig: newRig(t), redis: servers.Redis(t), board: testBoard("power", 4), registry: prometheus.NewRegistry()}
	r.log, _ = r.runLog(nil, r.board)
	var err error
	r.store, err = redisstore.New(redisstore.Config{URL: r.redis.URL, ReadTimeout: patience, StepTimeout: patience, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.store.Close(); err != nil {
			t.Error(err)
		}
	})
	r.applier, r.stop = r.runApplier(r.log, r.board, r.store)
	var ops []rankcore.Op
	for i := range 400 {
		ops = append(ops, add(fmt.Sprint(i), fmt.Sprint("user", i), int64(i%7)))
	}
	mustAppend(t, r.log, r.board, ops...)
	settled(t, r.applier, r.raw())
	r.auditor = NewAuditor(AuditorConfig{
		Log: r.log, Boards: []*rankcore.Board{r.board}, Shards: r.store, Pass: patience / 1000, Logger: r.logger, Registerer: r.registry,
	})
	return r
}

func (r *redisRig) key(shard int, name string) string {
	return fmt.Sprintf("rank:{%s:%d}:%s", r.board.ID, shard, name)
}

// counted is a metric of the auditor's, summed over its labels.
func (r *redisRig) counted(name string) (sum float64) {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "rankgate_ingest_audit_"+name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// TestVerifyOnRedis finds counts that are wrong and members nobody added, mends both, and is then content.
func TestVerifyOnRedis(t *testing.T) {
	r := newRedisRig(t)
	expect(t, verify(t, r.auditor, r.board, false))
	spoil := func() {
		r.redis.Do("HINCRBY", r.key(0, "all:segment"), "-1", "4")
		r.redis.Do("HSET", r.key(1, "all:segment"), "50", "4")
		r.redis.Do("ZADD", r.key(2, "all:main"), "-9", "foreign")
	}
	r.stop()
	spoil()
	r.auditor.settle = settleEvery
	members := r.redis.Do("ZCARD", r.key(2, "all:main")).(int64)
	wrong := []string{"0 segments 4/0", "1 segments 4/0", "2 damage 0/0"}
	expect(t, verify(t, r.auditor, r.board, false), wrong...)
	expect(t, verify(t, r.auditor, r.board, true), "0 segments 4/0 repaired", "1 segments 4/0 repaired", "2 damage 0/0")
	expect(t, verify(t, r.auditor, r.board, true), "2 damage 0/0")

	r.auditor.settle = patience
	told := make(chan []string)
	go func() { told <- verify(t, r.auditor, r.board, true) }()
	_, _ = r.runApplier(r.log, r.board, r.store)
	for _, found := range <-told { // nothing, when the applier was first
		if found != "2 damage 0/0 repaired" {
			t.Errorf("while the applier feeds the shard: %s", found)
		}
	}
	expect(t, verify(t, r.auditor, r.board, false))
	if got := r.redis.Do("ZCARD", r.key(2, "all:main")).(int64); got != members-1 {
		t.Errorf("%d members in the shard that was fed anew, want %d", got, members-1)
	}
	if got := r.counted("repaired_total"); got < 2 {
		t.Errorf("%v repairs were counted", got)
	}
}

// TestLostCountsNeedNoLog: a shard that lost its segment counts, when the log no longer reaches back to its start,
// stands still until they are counted from its members; then it goes on.
func TestLostCountsNeedNoLog(t *testing.T) {
	r := newRedisRig(t)
	purgeBefore(t, r.raw(), mustAppend(t, r.log, r.board, add("", "alice", 1)).Seq)
	settled(t, r.applier, r.raw())
	r.redis.Do("DEL", r.key(1, "all:segment"))
	eventually(t, func() string {
		if st := r.applier.Status(); st.Rebuild != 1 {
			return fmt.Sprintf("%+v", st)
		}
		return ""
	})
	found := verify(t, r.auditor, r.board, true)
	if len(found) != 1 || found[0][:10] != "1 segments" {
		t.Errorf("found %q", found)
	}
	settled(t, r.applier, r.raw())
	expect(t, verify(t, r.auditor, r.board, false))
}

// TestPatrolRepairs: the audit that runs all the time finds and mends a wrong count by itself, and nothing else
// while the board is written to.
func TestPatrolRepairs(t *testing.T) {
	r := newRedisRig(t)
	r.auditor.share, r.auditor.every = 0, time.Millisecond // a busy board lags, and each look at one would wait
	running(t, r.auditor.Run)
	r.redis.Do("HINCRBY", r.key(3, "all:segment"), "2", "4")
	writing, stop := context.WithCancel(t.Context())
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := 0; writing.Err() == nil; i++ {
			mustAppend(t, r.log, r.board, add("", fmt.Sprint("user", i%500), int64(i%90)), add("", fmt.Sprint("user", i%77), 1))
		}
	}()
	eventually(t, func() string {
		if r.counted("repaired_total") == 0 || r.counted("passed_timestamp_seconds") == 0 || r.counted("shards_total") < 100 {
			return "no repair, or no pass"
		}
		return ""
	})
	stop()
	<-written
	if drift, failed := r.counted("drift_total"), r.counted("failures_total"); drift != 1 || failed != 0 {
		t.Errorf("%v findings and %v failures, want the one that was made", drift, failed)
	}
	expect(t, verify(t, r.auditor, r.board, false))
}
