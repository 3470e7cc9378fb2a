package memstore

import (
	"fmt"
	"testing"
	"time"

	"rankgate/rankcore"
	"rankgate/rankcore/storetest"
	"rankgate/rankcore/tally"
)

func TestAuditAfterAnything(t *testing.T) {
	storetest.RunAudit(t, func(t *testing.T, boards ...*rankcore.Board) storetest.AuditedStore {
		t.Helper()
		return open(t, boards...)
	})
}

// TestAudit: a shard with every kind of state is sound, and whatever count in it is spoilt is found.
func TestAudit(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s *shard, se *season)
		found string
	}{
		"nothing":             {func(*shard, *season) {}, ""},
		"the total":           {func(_ *shard, se *season) { se.ranked.size++ }, "members differ from their count"},
		"a part's count":      {func(_ *shard, se *season) { se.ranked.root.inner.counts[0]++ }, "a count of a part of the members is wrong"},
		"the order":           {func(_ *shard, se *season) { se.ranked.root.inner.kids[0].leaf.keys[0] = 1 << 50 }, "members are out of order"},
		"a name is gone":      {func(_ *shard, se *season) { se.byName.remove(firstSlot(se)) }, "members by name differ from members in order"},
		"a hidden user":       {func(s *shard, _ *season) { delete(s.hidden, "u7") }, "scores are set aside of users who are not hidden"},
		"a remembered id":     {func(s *shard, _ *season) { s.ids.buckets[0].index.used-- }, "id memory differs from its count"},
		"the wrong user hid":  {func(s *shard, _ *season) { s.hidden["u8"] = struct{}{} }, ""}, // has no score aside: a hidden user may have none
		"an empty board's":    {func(s *shard, _ *season) { clear(s.seasons) }, ""},
		"all members are one": {func(_ *shard, se *season) { se.ranked.root = node{} }, "members differ from their count"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &rankcore.Board{
				ID: "audit", Shards: 1, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC,
				Head: 10, Dedupe: time.Minute, Freshness: time.Second,
			}
			s := open(t, b)
			all := []rankcore.Season{{ID: "all"}}
			step := rankcore.Step{To: rankcore.Position{Seq: 1, Time: 1e9}}
			for i := range 500 {
				op := rankcore.Op{ID: fmt.Sprint(i % 400), User: rankcore.UserID(fmt.Sprint("u", i%450)), Value: rankcore.Score(i)}
				step.Ops = append(step.Ops, rankcore.PlacedOp{Op: op, Stored: 1000, Seasons: all})
			}
			step.Ops = append(step.Ops, rankcore.PlacedOp{Op: rankcore.Op{User: "u7", Kind: rankcore.OpHide}})
			if r := s.Apply(t.Context(), b, []rankcore.Step{step})[0]; r.State != rankcore.StepApplied {
				t.Fatalf("%+v", r)
			}
			shard := s.boards[b.ID].shards[0]
			c.spoil(shard, shard.seasons["all"])
			a, err := s.Audit(t.Context(), b, 0, true)
			if err != nil || a.At != step.To {
				t.Fatalf("%+v, %v", a, err)
			}
			got := ""
			for _, d := range a.Drift {
				got += d.Detail
			}
			if got != c.found || a.Damaged() != (c.found != "") {
				t.Errorf("found %q, want %q", got, c.found)
			}
		})
	}
}

// TestAuditOfTally: what is counted by score over all shards is held against their members, and counted anew.
func TestAuditOfTally(t *testing.T) {
	for name, spoil := range map[string]func(all *standings){
		"too many":        func(all *standings) { all.counts.Add(-1e9, 3) },
		"one moved":       func(all *standings) { key, _ := all.counts.Nth(1); all.counts.Add(key, -1); all.counts.Add(1e9, 1) },
		"nobody is there": func(all *standings) { all.counts = tally.Counts{} },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, "", rankcore.TiesShared, 1000)
			audit := func(repair bool) rankcore.Audit {
				a, err := c.store.Audit(t.Context(), c.board, 3, repair)
				if err != nil || a.Damaged() {
					t.Fatalf("%+v, %v", a, err)
				}
				return a
			}
			spoil(c.store.boards[c.board.ID].seasons["all"])
			for _, repair := range []bool{false, true} {
				if a := audit(repair); len(a.Drift) != 1 || a.Drift[0].Kind != rankcore.DriftIndex || a.Drift[0].Repaired != repair {
					t.Errorf("repair %v: %+v", repair, a)
				}
			}
			if a := audit(false); len(a.Drift) > 0 {
				t.Errorf("after the repair: %+v", a)
			}
			c.checkAnswers(t, crowdUser(1), 1000)
		})
	}
}

func firstSlot(se *season) int {
	for i := range se.byName.slots {
		if se.byName.slots[i].ref != 0 {
			return i
		}
	}
	return -1
}

func TestAuditOfNoShard(t *testing.T) {
	b := &rankcore.Board{ID: "audit", Shards: 1, Location: time.UTC, Dedupe: time.Minute}
	if _, err := open(t, b).Audit(t.Context(), b, 1, false); err == nil {
		t.Error("a shard that is not there was audited")
	}
}
