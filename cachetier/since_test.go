package cachetier

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

// Who waited for an answer is told so, and who found it is told that.
func TestOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tier := newTier(t, newCore())
		for i, want := range []rankcore.Origin{rankcore.Asked, rankcore.FromMemory, rankcore.FromMemory} {
			if page, standing := topOf(t, tier), rankOf(t, tier, "abe"); page.Origin != want || standing.Origin != want {
				t.Errorf("reading %d: origins %d and %d, want %d", i, page.Origin, standing.Origin, want)
			}
		}
		tier.Floor(power.ID)
		for i, want := range []rankcore.Origin{rankcore.AskedAgain, rankcore.FromMemory} {
			if page, standing := topOf(t, tier), rankOf(t, tier, "abe"); page.Origin != want || standing.Origin != want {
				t.Errorf("reading %d after the floor: origins %d and %d, want %d", i, page.Origin, standing.Origin, want)
			}
		}
	})
}

// Since is kept by what memory has, costs one load for all who ask for it, and nobody else anything.
func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		tier := newTier(t, c)
		ask := func(since time.Time) (score rankcore.Score, loads int64) {
			t.Helper()
			before := c.loads.Load()
			page, err := tier.Top(t.Context(), rankcore.TopQuery{Board: power, Season: "all", Limit: 1, Since: since})
			if err != nil {
				t.Fatal(err)
			}
			return page.Entries[0].Score, c.loads.Load() - before
		}
		ask(time.Time{})
		time.Sleep(10 * time.Millisecond)
		c.score.Store(5)
		written := time.Now()
		time.Sleep(10 * time.Millisecond)
		for _, step := range []struct {
			name  string
			since time.Time
			score rankcore.Score
			loads int64
		}{
			{"anything", time.Time{}, 0, 0},
			{"a moment to come", written.Add(time.Hour), 0, 0},
			{"what was written", written, 5, 1},
			{"the same again", written, 5, 0},
			{"anything then", time.Time{}, 5, 0},
		} {
			if score, loads := ask(step.since); score != step.score || loads != step.loads {
				t.Errorf("%s: score %d after %d loads, want %d after %d", step.name, score, loads, step.score, step.loads)
			}
		}
	})
}

// A load that is under way already has not seen what was written since.
func TestSinceDoesNotJoinAnEarlierLoad(t *testing.T) {
	c := newCore()
	tier := newTier(t, c)
	h := newHold()
	c.hold.Store(h)
	early := make(chan *rankcore.Page)
	go func() { early <- topOf(t, tier) }()
	<-h.read
	c.hold.Store(nil)
	c.score.Store(5)
	page, err := tier.Top(t.Context(), rankcore.TopQuery{Board: power, Season: "all", Limit: 1, Since: time.Now()})
	if err != nil || page.Entries[0].Score != 5 {
		t.Errorf("%+v %v, want the score written before", page, err)
	}
	close(h.release)
	<-early
	if got := topOf(t, tier).Entries[0].Score; got != 5 {
		t.Errorf("the earlier load was kept: %d", got)
	}
}

// That a user is not ranked is kept as an answer, and Since is as true of it.
func TestSinceOfAnAbsentUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		tier := newTier(t, c)
		c.absent.Store(rankcore.UserID("abe"), true)
		q := rankcore.RankQuery{Board: power, Season: "all", User: "abe"}
		if _, err := tier.Rank(t.Context(), q); !errors.Is(err, rankcore.ErrNotRanked) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		c.absent.Delete(rankcore.UserID("abe"))
		q.Since = time.Now()
		time.Sleep(10 * time.Millisecond)
		s, err := tier.Rank(t.Context(), q)
		if err != nil || s.Origin != rankcore.AskedAgain {
			t.Errorf("%+v %v", s, err)
		}
	})
}
