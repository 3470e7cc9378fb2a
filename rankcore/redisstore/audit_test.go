package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/storetest"
)

func TestAuditAfterAnything(t *testing.T) {
	server := servers.Redis(t)
	storetest.RunAudit(t, func(t *testing.T, boards ...*rankcore.Board) storetest.AuditedStore {
		t.Helper()
		anew(boards)
		return open(t, server.URL)
	})
}

// found is what an audit of the only shard finds, as "segments all 1/2 repaired".
func (w *writer) found(repair bool) string {
	w.tb.Helper()
	a, err := w.store.Audit(w.tb.Context(), w.board, 0, repair)
	if err != nil {
		w.tb.Fatal(err)
	}
	if !a.Damaged() && a.At != w.at {
		w.tb.Errorf("a whole shard is at %v, want %v", a.At, w.at)
	}
	var list []string
	for _, d := range a.Drift {
		text := d.Kind.String()
		if d.Kind == rankcore.DriftSegments {
			text += fmt.Sprintf(" %s %d/%d", d.Season, d.Recorded, d.Counted)
		}
		if d.Repaired {
			text += " repaired"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// TestAuditFindsAndRepairs: whatever is wrong with segment counts is found, and after a repair the counts are what
// the members are. What only the log can mend is told and left alone.
func TestAuditFindsAndRepairs(t *testing.T) {
	server := servers.Redis(t)
	const main, segment, aside = "rank:{audit:0}:all:main", "rank:{audit:0}:all:segment", "rank:{audit:0}:all:aside"
	for name, c := range map[string]struct {
		spoil            []string
		found, repaired  string
		again            string // after the repair
		segmentsAreRight bool   // after the repair
	}{
		"nothing":                    {nil, "", "", "", true},
		"one count":                  {[]string{"HINCRBY", segment, "-1", "4"}, "segments all 5/1", "segments all 5/1 repaired", "", true},
		"a count that is no number":  {[]string{"HSET", segment, "0", "many"}, "segments all 0/1", "segments all 0/1 repaired", "", true},
		"a segment is missing":       {[]string{"HDEL", segment, "7"}, "segments all 0/2", "segments all 0/2 repaired", "", true},
		"a segment without members":  {[]string{"HSET", segment, "8", "3"}, "segments all 3/0", "segments all 3/0 repaired", "", true},
		"one before all others":      {[]string{"HSET", segment, "3000", "3"}, "segments all 3/0", "segments all 3/0 repaired", "", true},
		"one behind all others":      {[]string{"HSET", segment, "-3000", "3"}, "segments all 3/0", "segments all 3/0 repaired", "", true},
		"a name that is no segment":  {[]string{"HSET", segment, "07", "3"}, "segments all 3/0", "segments all 3/0 repaired", "", true},
		"all segments":               {[]string{"DEL", segment}, fmt.Sprintf("segments all 0/%d, damage", 1005), fmt.Sprintf("segments all 0/%d repaired", 1005), "", true},
		"a score changed by hand":    {[]string{"ZADD", main, "-9", "zoe"}, "segments all 2/2", "segments all 2/2 repaired", "", true},
		"a member nobody added":      {[]string{"ZADD", main, "-9", "foreign"}, "damage", "damage", "damage", false},
		"a member is gone":           {[]string{"ZREM", main, "zoe"}, "damage", "damage", "damage", false},
		"a hidden user's score":      {[]string{"HDEL", aside, "yan"}, "damage", "damage", "damage", true},
		"a hidden user":              {[]string{"SADD", "rank:{audit:0}:hidden", "nobody"}, "damage", "damage", "damage", true},
		"a score that is a fraction": {[]string{"ZADD", main, "-7.5", "zoe"}, "damage", "damage", "damage", false},
	} {
		t.Run(name, func(t *testing.T) {
			server.Do("FLUSHALL")
			w := newWriter(t, open(t, server.URL), oneShard("audit"))
			w.write(add("abe", 7), add("zoe", 7), add("low", -1), add("nil", 0), add("yan", 3), add("max", rankcore.MaxScore),
				rankcore.Op{User: "yan", Kind: rankcore.OpHide})
			w.fill(1000)
			if c.spoil != nil {
				server.Do(c.spoil...)
			}
			for i, want := range []string{c.found, c.repaired, c.again} {
				if got := w.found(i == 1); got != want {
					t.Errorf("audit %d: %q, want %q", i+1, got, want)
				}
			}
			if c.segmentsAreRight && c.again == "" {
				checkSegments(t, w, server)
			}
		})
	}
}

// TestAuditOfMoreSegmentsThanOneCall counts in parts, and finds what is wrong in any of them once.
func TestAuditOfMoreSegmentsThanOneCall(t *testing.T) {
	server := servers.Redis(t)
	for _, order := range []rankcore.Order{rankcore.Desc, rankcore.Asc} {
		b := oneShard(rankcore.BoardID("parts-" + order.String()))
		b.Order = order
		w := newWriter(t, open(t, server.URL), b)
		const segments = 2000
		var ops []rankcore.Op
		for g := rankcore.Segment(-segments / 2); g < segments/2; g++ {
			lo, hi := g.Bounds()
			ops = append(ops, set(rankcore.UserID(fmt.Sprint("lo", g)), int64(lo)), set(rankcore.UserID(fmt.Sprint("hi", g)), int64(hi)))
		}
		w.write(ops...)
		a, err := w.store.Audit(t.Context(), b, 0, false)
		if err != nil || len(a.Drift) > 0 || a.Segments != segments || a.Members != 2*segments {
			t.Fatalf("%v: %+v, %v", order, a, err)
		}
		key := fmt.Sprintf("rank:{%s:0}:all:segment", b.ID)
		for g := -segments / 2; g < segments/2; g += 2 {
			server.Do("HINCRBY", key, fmt.Sprint(g), "1")
		}
		for g := segments / 2; g < segments; g++ {
			server.Do("HSET", key, fmt.Sprint(g), "1")
		}
		const spoilt = segments / 2
		wrong := fmt.Sprintf("segments all %d/%d", 3*spoilt+spoilt, 2*spoilt)
		for i, want := range []string{wrong, wrong + " repaired", ""} {
			if got := w.found(i == 1); got != want {
				t.Errorf("%v, audit %d: %q, want %q", order, i+1, got, want)
			}
		}
		checkSegments(t, w, server)
	}
}

// TestAuditDuringWrites: a shard that changes all the time is never found to differ, and a repair of what does not
// differ changes nothing.
func TestAuditDuringWrites(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), oneShard("busy"))
	w.fill(20_000)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	audited := make(chan int)
	go func() {
		n := 0
		defer func() { audited <- n }()
		for ; ctx.Err() == nil; n++ {
			if a, err := w.store.Audit(t.Context(), w.board, 0, n%2 == 1); err != nil || len(a.Drift) > 0 {
				t.Errorf("audit %d: %+v, %v", n, a.Drift, err)
				return
			}
		}
	}()
	writes := 0
	for ; ctx.Err() == nil; writes++ {
		var ops []rankcore.Op
		for range 100 {
			ops = append(ops, set(user(w.rnd.IntN(25_000)), int64(w.rnd.ExpFloat64()*1e6)))
		}
		w.write(ops...)
	}
	if n := <-audited; n < 3 {
		t.Errorf("%d audits during %d writes", n, writes)
	}
	checkSegments(t, w, server)
}

// TestMiscountedStep: a step that meets a segment of fewer than no members has it counted anew, and fits then.
func TestMiscountedStep(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), oneShard("miscounted"))
	w.write(add("abe", 7), add("zoe", 7))
	server.Do("HDEL", "rank:{miscounted:0}:all:segment", "7")
	server.Do("HSET", "rank:{miscounted:0}:all:segment", "9", "1")
	step := w.steps(add("abe", 1))[0]
	if r := w.step(step); r.State != rankcore.StepFailed || r.Err == nil || !strings.Contains(r.Err.Error(), "counted anew") {
		t.Fatalf("%+v, want a failure that says so", r)
	}
	if r := w.step(step); r.State != rankcore.StepApplied {
		t.Fatalf("the same step again: %+v", r)
	}
	w.at = step.To
	checkSegments(t, w, server)
}

// TestAuditOnTheMove: while a shard's keys are partly on one node and partly on another, an audit fails or finds
// nothing, and repairs nothing that is only elsewhere.
func TestAuditOnTheMove(t *testing.T) {
	cluster := servers.RedisCluster(t, 3, 0)
	w := newWriter(t, open(t, cluster.URL), oneShard("audited-move"))
	everything(w)
	m := beginMove(t, cluster, w.board, 0)
	refused := 0
	for m.moveKey() {
		a, err := w.store.Audit(t.Context(), w.board, 0, true)
		if err != nil {
			refused++
		} else if len(a.Drift) > 0 || a.At != w.at {
			t.Fatalf("a shard on the move: %+v", a)
		}
	}
	m.end()
	if refused == 0 {
		t.Error("every audit was answered: the slot cannot have been split")
	}
	a, err := w.store.Audit(t.Context(), w.board, 0, true)
	if err != nil || len(a.Drift) > 0 || a.Members != 2 || a.At != w.at {
		t.Errorf("after the move: %+v, %v", a, err)
	}
}
