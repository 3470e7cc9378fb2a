package ingest

import (
	"fmt"
	"sync"
	"testing"

	"rankgate/rankcore"
)

func TestAppendThenApplied(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	l, _ := r.runLog(nil, b)
	m := newModel(b)
	a, _ := r.runApplier(l, b, m)
	first := mustAppend(t, l, b, add("1", "alice", 5), add("2", "bob", 7))
	second := mustAppend(t, l, b, add("3", "alice", 1))
	if second.Seq <= first.Seq {
		t.Errorf("the second write is at %v, the first at %v", second, first)
	}
	m.scored(t, map[string]int64{"alice": 6, "bob": 7})
	settled(t, a, l.stream)
}

func TestConcurrentAppendsShareMessagesInOrder(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	l, _ := r.runLog(nil, b)
	m := newModel(b)
	a, _ := r.runApplier(l, b, m)
	const callers, each = 16, 20
	var wg sync.WaitGroup
	want := map[string]int64{}
	for c := range callers {
		user := fmt.Sprintf("user%d", c)
		want[user] = each
		wg.Go(func() {
			last := uint64(0)
			for i := range each {
				at := mustAppend(t, l, b, add(fmt.Sprintf("%d", i), user, 1))
				if at.Seq <= last { // its caller had been answered before it was sent
					t.Errorf("append %d of %s is at %d, the one before at %d", i, user, at.Seq, last)
				}
				last = at.Seq
			}
		})
	}
	wg.Wait()
	m.scored(t, want)
	settled(t, a, l.stream)
	if n := a.Status().Cursor.Seq; n >= callers*each {
		t.Errorf("%d messages for %d appends: nothing was merged", n, callers*each)
	}
}

func TestEmptyBoardBecomesReady(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	l, _ := r.runLog(nil, b)
	m := newModel(b)
	r.runApplier(l, b, m)
	eventually(t, func() string { // a shard at no position is not ready, so a tick must reach each
		for s := range b.Shards {
			if m.copyOf(s).pos.IsNone() {
				return fmt.Sprintf("shard %d has no position", s)
			}
		}
		return ""
	})
}

func TestTwoAppliersAreHarmless(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 8)
	l, _ := r.runLog(nil, b)
	m := newModel(b)
	a1, _ := r.runApplier(l, b, m)
	a2, _ := r.runApplier(l, b, m)
	want := map[string]int64{}
	for i := range 200 {
		user := fmt.Sprintf("user%d", i%20)
		want[user] += int64(i)
		mustAppend(t, l, b, rankcore.Op{User: rankcore.UserID(user), Kind: rankcore.OpAdd, Value: rankcore.Score(i)})
	}
	m.scored(t, want)
	settled(t, a1, l.stream)
	settled(t, a2, l.stream)
}
