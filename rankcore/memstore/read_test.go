package memstore

import (
	"errors"
	"sync"
	"testing"
	"time"

	"rankgate/rankcore"
)

// TestReadsDuringWrites: while steps are applied and checkpoints written, every answer is the board at one
// moment: totals, ranks and lists agree, and a step is there as a whole or not at all.
func TestReadsDuringWrites(t *testing.T) {
	c := newCrowd(t, t.TempDir(), rankcore.TiesShared, 3000)
	writing, written := make(chan struct{}), make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-writing:
					return
				default:
					c.checkAnswers(t, crowdUser(i%3000), 3000)
				}
			}
		})
	}
	readers.Go(func() {
		for {
			c.store.saveAll(t.Context())
			select {
			case <-written:
				return
			default:
			}
		}
	})
	for range 60 {
		c.feed(t, c.sets(300, 3000))
	}
	close(writing)
	close(written)
	readers.Wait()
	s, said := reopen(t, c.store.dir, c.board)
	if said != "" {
		t.Errorf("a checkpoint written during writes: %s", said)
	}
	if page, err := s.Top(t.Context(), rankcore.TopQuery{Board: c.board, Season: "all"}); err != nil || page.Total != 3000 {
		t.Errorf("%+v, %v", page, err)
	}
}

func (c *crowd) checkAnswers(t *testing.T, user rankcore.UserID, members int64) {
	t.Helper()
	page, err := c.store.Top(t.Context(), rankcore.TopQuery{Board: c.board, Season: "all", Offset: 40, Limit: 30})
	if err != nil || page.Total != members || len(page.Entries) != 30 {
		t.Errorf("top: %+v, %v", page, err)
		return
	}
	for i, e := range page.Entries {
		shared := i > 0 && e.Score == page.Entries[i-1].Score
		if shared && e.Rank != page.Entries[i-1].Rank || !shared && i > 0 && e.Rank != int64(41+i) || e.Rank > int64(41+i) {
			t.Errorf("row %d has rank %d and score %d, the row before %+v", 41+i, e.Rank, e.Score, page.Entries[max(i-1, 0)])
		}
	}
	for _, p := range []rankcore.Precision{rankcore.Exact, rankcore.Approx} {
		st, err := c.store.Rank(t.Context(), rankcore.RankQuery{Board: c.board, Season: "all", User: user, Precision: p})
		if err != nil || st.Total != members || st.Rank < 1 || st.Rank+max(st.Tied, 1)-1 > members {
			t.Errorf("rank: %+v, %v", st, err)
		}
	}
}

// TestVersion: the version moves with every change that readers of the season can see, and with no other;
// also past a new log, whose sequence numbers begin again.
func TestVersion(t *testing.T) {
	c := newCrowd(t, "", rankcore.TiesShared, 0)
	c.feed(t, nil)
	day := rankcore.Season{ID: "day:1", Kind: rankcore.Day, Expires: time.Now().Add(time.Hour)}
	op := func(kind rankcore.OpKind, u string, v rankcore.Score, seasons ...rankcore.Season) rankcore.PlacedOp {
		return rankcore.PlacedOp{Op: rankcore.Op{User: rankcore.UserID(u), Kind: kind, Value: v}, Seasons: seasons}
	}
	version := func(season rankcore.SeasonID) rankcore.Position {
		page, err := c.store.Top(t.Context(), rankcore.TopQuery{Board: c.board, Season: season})
		if err != nil {
			t.Fatal(err)
		}
		return page.Version
	}
	all := allTime[0]
	for _, s := range []struct {
		op       rankcore.PlacedOp
		all, day bool
	}{
		{op(rankcore.OpAdd, "a", 1, all, day), true, true},
		{op(rankcore.OpAdd, "a", 0, all, day), false, false},
		{op(rankcore.OpAdd, "b", 0, all), true, false},
		{op(rankcore.OpHide, "b", 0), true, false},
		{op(rankcore.OpAdd, "b", 5, all, day), false, false},
		{op(rankcore.OpShow, "b", 0), true, true},
		{op(rankcore.OpHide, "c", 0), false, false},
		{op(rankcore.OpAdd, "a", rankcore.MaxScore, all, day), false, false},
		{op(rankcore.OpRemove, "b", 0), true, true},
		{op(rankcore.OpRemove, "b", 0), false, false},
	} {
		wantAll, wantDay := version("all"), version("day:1")
		c.feed(t, []rankcore.PlacedOp{s.op})
		if s.all {
			wantAll = c.at
		}
		if s.day {
			wantDay = c.at
		}
		if all, day := version("all"), version("day:1"); all != wantAll || day != wantDay {
			t.Errorf("after %s %s %d: versions %v and %v, want %v and %v", s.op.Kind, s.op.User, s.op.Value, all, day, wantAll, wantDay)
		}
	}
	for i := range c.board.Shards {
		to := rankcore.Position{Seq: 1, Time: c.at.Time + 1}
		c.store.Apply(t.Context(), c.board, []rankcore.Step{{Shard: i, From: c.at, To: to, Lost: true}})
	}
	if v := version("all"); v.Seq != 1 {
		t.Errorf("the version on a new log is still %v of the old one", v)
	}
}

// TestRefusals: what does not fit the board fails as a whole and changes nothing.
func TestRefusals(t *testing.T) {
	c := newCrowd(t, "", rankcore.TiesShared, 500)
	to := rankcore.Position{Seq: c.at.Seq + 1, Time: c.at.Time}
	long := rankcore.UserID(make([]byte, rankcore.MaxUserBytes+1))
	other := *c.board
	other.Shards = 32
	for name, try := range map[string]struct {
		board *rankcore.Board
		step  rankcore.Step
	}{
		"a user id too long":    {c.board, rankcore.Step{From: c.at, To: to, Ops: []rankcore.PlacedOp{c.set(1), {Op: rankcore.Op{User: long}}}}},
		"a user id of nothing":  {c.board, rankcore.Step{From: c.at, To: to, Ops: []rankcore.PlacedOp{{}}}},
		"a shard there is not":  {c.board, rankcore.Step{Shard: 16, From: c.at, To: to}},
		"another board by name": {&other, rankcore.Step{From: c.at, To: to}},
	} {
		if r := c.store.Apply(t.Context(), try.board, []rankcore.Step{try.step})[0]; r.State != rankcore.StepFailed || r.Err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := c.store.Positions(t.Context(), c.board)[0]; r.At != c.at {
		t.Errorf("the shard went to %v", r.At)
	}
	if _, err := c.store.Top(t.Context(), rankcore.TopQuery{Board: &other}); !errors.Is(err, rankcore.ErrUnavailable) {
		t.Errorf("top of a board that does not fit: %v", err)
	}
}
