package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"rankgate/rankcore"
)

// testSteps: a step changes a shard once, from where it is, or not at all.
func testSteps(t *testing.T, open Open) {
	b := newBoard("steps")
	s := open(t, b)
	for i, r := range s.Positions(t.Context(), b) {
		if r.State != rankcore.StepAt || !r.At.IsNone() {
			t.Fatalf("new shard %d: %+v, want at none", i, r)
		}
	}
	top := rankcore.TopQuery{Board: b, Season: "all", Limit: 10}
	var not *rankcore.Unavailable
	if page, err := s.Top(t.Context(), top); !errors.As(err, &not) || not.Reason != rankcore.ShardRebuilding {
		t.Fatalf("a board no shard has begun: %+v, %v, want shard_rebuilding", page, err)
	}
	f := feed(t, s, b)
	f.check("nobody")
	before := f.at
	f.expect(start.Add(time.Second), rankcore.Applied, add("a", 1), add("b", 2), add("c", 3), add("d", 4))
	shard := b.Shard("a")
	again := rankcore.Step{Shard: shard, From: before, To: f.at, Ops: f.place(f.at, []rankcore.Op{add("a", 1)})}
	for _, c := range []struct {
		name string
		step rankcore.Step
	}{
		{"repeated", again},
		{"from nothing", rankcore.Step{Shard: shard, To: f.at, Ops: again.Ops}},
		{"from the same sequence at another time", rankcore.Step{Shard: shard, From: rankcore.Position{Seq: f.at.Seq, Time: f.at.Time + 1}, To: rankcore.Position{Seq: f.at.Seq + 1, Time: f.at.Time + 2}, Ops: again.Ops}},
		{"an audit from elsewhere", rankcore.Step{Shard: shard, From: before, To: before}},
	} {
		if r := s.Apply(t.Context(), b, []rankcore.Step{c.step})[0]; r.State != rankcore.StepAt || r.At != f.at {
			t.Errorf("a step %s: %+v, want at %v", c.name, r, f.at)
		}
	}
	if r := s.Apply(t.Context(), b, []rankcore.Step{{Shard: shard, From: f.at, To: f.at}})[0]; r.State != rankcore.StepApplied || r.At != f.at || r.Lost {
		t.Errorf("an audit: %+v", r)
	}
	f.check("a", "b", "c", "d", "e")
	lost := rankcore.Position{Seq: f.at.Seq + 1, Time: f.at.Time + 1}
	if r := s.Apply(t.Context(), b, []rankcore.Step{{Shard: shard, From: f.at, To: lost, Lost: true}})[0]; r.State != rankcore.StepApplied || !r.Lost {
		t.Errorf("a step that marks the shard: %+v", r)
	}
	if r := s.Positions(t.Context(), b)[shard]; !r.Lost || r.At != lost {
		t.Errorf("a marked shard: %+v", r)
	}
	if err := s.Reset(t.Context(), b, shard); err != nil {
		t.Fatal(err)
	}
	if r := s.Positions(t.Context(), b)[shard]; r.At != lost {
		t.Errorf("reset emptied a whole shard: %+v", r)
	}
}

// testScores: what add, set and best do, and what changes nothing.
func testScores(t *testing.T, open Open) {
	boards := []*rankcore.Board{newBoard("add"), newBoard("set", set), newBoard("best", best), newBoard("asc", asc, best)}
	s := open(t, boards...)
	at := start.Add(time.Minute)

	f := feed(t, s, boards[0])
	f.expect(at, rankcore.Applied, add("a", 0), add("b", -5), add("c", 5), add("d", 5), add("d", -10))
	f.expect(at, rankcore.Unchanged, add("a", 0), kind(rankcore.OpSet, "b", -5))
	f.expect(at, rankcore.Applied, add("a", rankcore.MaxScore), add("b", -rankcore.MaxScore+5))
	f.expect(at, rankcore.OutOfRange, add("a", 1), add("b", -1), add("a", rankcore.MaxScore))
	f.expect(at, rankcore.Applied, add("a", -1), add("a", 1))
	f.check("a", "b", "c", "d", "e")

	f = feed(t, s, boards[1])
	f.expect(at, rankcore.Applied, kind(rankcore.OpSet, "a", 7), kind(rankcore.OpSet, "a", 3), kind(rankcore.OpSet, "b", 0))
	f.expect(at, rankcore.Unchanged, kind(rankcore.OpSet, "a", 3), kind(rankcore.OpSet, "b", 0))
	f.check("a", "b")

	for i, better := range []int64{2: 1, 3: -1} {
		if i < 2 {
			continue
		}
		f = feed(t, s, boards[i])
		f.expect(at, rankcore.Applied, kind(rankcore.OpBest, "a", 10), kind(rankcore.OpBest, "b", 10), kind(rankcore.OpBest, "a", 10+better))
		f.expect(at, rankcore.Unchanged, kind(rankcore.OpBest, "b", 10-better), kind(rankcore.OpBest, "b", 10))
		f.expect(at, rankcore.Applied, kind(rankcore.OpSet, "b", 10-better), kind(rankcore.OpBest, "b", 10))
		f.check("a", "b")
	}
}

// testIDs: an id counts once within the horizon of log time, whatever the batches are.
func testIDs(t *testing.T, open Open) {
	b := newBoard("ids")
	s := open(t, b)
	f := feed(t, s, b)
	at := start.Add(time.Hour)
	f.expect(at, rankcore.Applied, with("1", add("a", 5)), with("1", add("b", 7)), with("2", add("a", 1)))
	f.expect(at, rankcore.Duplicate, with("1", add("a", 5)), with("1", add("b", 7)))
	f.expect(at, rankcore.Conflict, with("1", add("a", 6)), with("1", kind(rankcore.OpSet, "a", 5)))
	f.expect(at.Add(b.Dedupe), rankcore.Duplicate, with("1", add("a", 5)))
	f.expect(at.Add(b.Dedupe+time.Millisecond), rankcore.Applied, with("1", add("a", 5)))
	f.expect(at.Add(2*b.Dedupe), rankcore.Duplicate, with("1", add("a", 5)))
	f.expect(at.Add(2*b.Dedupe), rankcore.OutOfRange, with("3", add("a", rankcore.MaxScore)))
	f.expect(at.Add(2*b.Dedupe), rankcore.Unchanged, with("4", add("b", 0)))
	f.expect(at.Add(2*b.Dedupe), rankcore.Duplicate, with("3", add("a", rankcore.MaxScore)), with("4", add("b", 0)))
	f.expect(at.Add(2*b.Dedupe), rankcore.Applied, kind(rankcore.OpRemove, "a", 0))
	f.expect(at.Add(2*b.Dedupe), rankcore.Duplicate, with("1", add("a", 5)))
	f.check("a", "b")
	asked := []rankcore.Op{
		with("1", add("a", 5)), with("1", add("a", 6)), with("3", add("a", rankcore.MaxScore)), with("4", add("b", 0)), with("5", add("b", 0)),
	}
	want := []rankcore.Outcome{rankcore.Applied, rankcore.Conflict, rankcore.OutOfRange, rankcore.Unchanged, rankcore.OutcomeUnknown}
	if got, err := s.Outcomes(t.Context(), b, asked); err != nil || !slices.Equal(got, want) {
		t.Errorf("outcomes: got %v, %v, want %v", got, err, want)
	}
}

// testShortHorizon: of an id that counted several times the last one is remembered, even if the log's clock stepped back
// by more than the horizon meanwhile.
func testShortHorizon(t *testing.T, open Open) {
	b := newBoard("short", func(b *rankcore.Board) { b.Dedupe = time.Second })
	s := open(t, b)
	f := feed(t, s, b)
	at := start.Add(time.Hour)
	one, twice := with("1", add("a", 5)), with("2", add("a", 5))
	f.expect(at, rankcore.Applied, one, twice)
	f.expect(at.Add(100*time.Second), rankcore.Applied, one, twice)
	f.expect(at.Add(50*time.Second), rankcore.Applied, one)
	f.expect(at.Add(50*time.Second), rankcore.Duplicate, one)
	f.expect(at.Add(100*time.Second), rankcore.Applied, one)
	f.expect(at.Add(101*time.Second), rankcore.Duplicate, one, one, twice, twice)
	f.expect(at, rankcore.Applied, one)
	f.expect(at.Add(time.Second), rankcore.Duplicate, one, one)
	f.expect(at.Add(100*time.Second), rankcore.Duplicate, twice, twice)
	f.expect(at.Add(time.Hour), rankcore.Applied, one, twice)
	f.check("a")
}

// testHidden: a hidden user is out of ranks, counts and lists, and comes back with what was added meanwhile.
func testHidden(t *testing.T, open Open) {
	b := newBoard("hidden", daily)
	s := open(t, b)
	f := feed(t, s, b)
	at := start.Add(time.Minute)
	f.expect(at, rankcore.Applied, add("a", 1), add("b", 2), add("c", 3))
	f.expect(at, rankcore.Applied, kind(rankcore.OpHide, "b", 0), kind(rankcore.OpHide, "new", 0), add("b", 5), add("new", 9))
	f.check("a", "b", "c", "new")
	f.expect(at, rankcore.Unchanged, kind(rankcore.OpHide, "b", 0), kind(rankcore.OpShow, "a", 0), kind(rankcore.OpRemove, "nobody", 0))
	f.expect(at.Add(24*time.Hour), rankcore.Applied, add("b", 1)) // a season that began while hidden
	f.check("a", "b", "c", "new")
	f.expect(at.Add(24*time.Hour), rankcore.Applied, kind(rankcore.OpShow, "b", 0), kind(rankcore.OpShow, "new", 0))
	f.check("a", "b", "c", "new")
	f.expect(at.Add(24*time.Hour), rankcore.Applied, kind(rankcore.OpHide, "b", 0), kind(rankcore.OpRemove, "b", 0), kind(rankcore.OpRemove, "a", 0), add("b", 4))
	f.check("a", "b", "c", "new")
}

// testSeasons: an operation counts in every season that contains it, and a season goes when its time is up.
func testSeasons(t *testing.T, open Open) {
	b := newBoard("seasons", daily)
	s := open(t, b)
	f := feed(t, s, b)
	dated := func(at time.Time, op rankcore.Op) rankcore.Op {
		op.At = at
		return op
	}
	f.expect(start, rankcore.Applied, add("a", 1), add("b", 2))
	tomorrow := start.Add(24 * time.Hour)
	f.expect(tomorrow, rankcore.Applied, add("a", 10), dated(start, add("c", 3)))
	f.check("a", "b", "c")
	f.checkSeason("day:2026-11-30", "a", "b", "c")
	f.expect(tomorrow, rankcore.OutOfRange, dated(start, add("b", rankcore.MaxScore-1)))
	later := start.Add(84 * time.Hour) // the first day has been over for 72 hours
	f.message(later)
	f.expect(later, rankcore.Applied, dated(start, add("d", 4)))
	f.check("a", "b", "c", "d")
	if page, err := s.Top(t.Context(), rankcore.TopQuery{Board: b, Season: "day:2026-11-30", Limit: 10}); err != nil || page.Total != 0 {
		t.Errorf("a retired day: %+v, %v", page, err)
	}
	f.check("a", "b", "c", "d")
}

func (f *feeder) checkSeason(season rankcore.SeasonID, users ...string) {
	f.t.Helper()
	rows := f.model.ranking(season)
	if err := f.checkTop(season, rows); err != nil {
		f.t.Fatal(err)
	}
	for _, u := range users {
		i := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return string(e.User) == u })
		if err := f.checkRank(season, rankcore.UserID(u), rows, i); err != nil {
			f.t.Fatal(err)
		}
	}
}

// testSizes: Redis changes its encoding at 128 entries; answers must not change with it.
func testSizes(t *testing.T, open Open) {
	sizes := []int{0, 1, 2, 127, 128, 129, 700}
	var boards []*rankcore.Board
	for _, n := range sizes {
		boards = append(boards, newBoard(fmt.Sprintf("size-%d", n), func(b *rankcore.Board) { b.Shards = 1 }))
	}
	s := open(t, boards...)
	for i, n := range sizes {
		f := feed(t, s, boards[i])
		var ops []rankcore.Op
		for j := range n {
			ops = append(ops, add(userN(j), int64(j%7)*1000-2000), add(userN(j), int64(j%3)))
		}
		for chunk := range slices.Chunk(ops, 400) {
			f.message(start.Add(time.Second), chunk...)
		}
		f.check("u0", "u1", userN(n-1), userN(n))
		if n > 0 {
			f.expect(start.Add(time.Second), rankcore.Applied, kind(rankcore.OpRemove, "u0", 0))
			f.check("u0", "u1", userN(n-1))
		}
	}
}
