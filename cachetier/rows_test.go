package cachetier

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

func aroundOf(t *testing.T, tier *Tier, user rankcore.UserID, limit int) (*rankcore.Page, error) {
	t.Helper()
	return tier.Rows(t.Context(), rankcore.RowsQuery{Board: power, Season: "all", Around: user, Limit: limit})
}

// The rows around a user are kept like its rank: apart from it and by limit, until the user changes.
func TestAroundIsKeptForEachUser(t *testing.T) {
	c := newCore()
	tier := newTier(t, c)
	rankOf(t, tier, "abe")
	for range 100 {
		for _, user := range []rankcore.UserID{"abe", "bill"} {
			for _, limit := range []int{1, 3} {
				page, err := aroundOf(t, tier, user, limit)
				if err != nil || len(page.Entries) != limit || page.Entries[0].User != user+"0" {
					t.Fatalf("%d around %s: %+v, %v", limit, user, page, err)
				}
			}
		}
	}
	if n := c.loads.Load(); n != 5 {
		t.Fatalf("%d loads, want one for each key", n)
	}
	c.score.Store(9)
	tier.Evict(by(1, "abe"))
	for user, want := range map[rankcore.UserID]rankcore.Score{"abe": 9, "bill": 0} {
		if page, err := aroundOf(t, tier, user, 3); err != nil || page.Entries[0].Score != want {
			t.Errorf("around %s after abe's change: %+v, %v", user, page, err)
		}
	}
}

func TestAroundNobody(t *testing.T) {
	c := newCore()
	c.absent.Store(rankcore.UserID("nobody"), true)
	progress := &applier{}
	tier := newTier(t, c, func(cfg *Config) { cfg.Progress = progress })
	for range 10 {
		if _, err := aroundOf(t, tier, "nobody", 3); !errors.Is(err, rankcore.ErrNotRanked) {
			t.Fatalf("got %v, want ErrNotRanked", err)
		}
	}
	if n := c.loads.Load(); n != 1 {
		t.Errorf("%d loads, want 1", n)
	}
	progress.says(func(time.Time) (rankcore.Progress, time.Time, bool) { return rankcore.Progress{}, time.Time{}, false })
	tier.Floor("power")
	if page, err := aroundOf(t, tier, "nobody", 3); err != nil || page.Status != rankcore.Updating || page.Reason != rankcore.LogUnreachable {
		t.Errorf("while nothing is heard: %+v, %v, want updating", page, err)
	}
}

// Pages of a walk and batches are read each time, and are called fresh only while the shards are known to be current.
func TestWalksAndBatchesAreReadEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, progress := newCore(), &applier{}
		tier := newTier(t, c, func(cfg *Config) { cfg.Progress = progress })
		ask := func() (rankcore.Meta, rankcore.Meta, rankcore.Score) {
			t.Helper()
			page, err := tier.Rows(t.Context(), rankcore.RowsQuery{Board: power, Season: "all", Limit: 2})
			if err != nil || len(page.Entries) != 2 {
				t.Fatalf("%+v, %v", page, err)
			}
			batch, err := tier.Ranks(t.Context(), rankcore.RanksQuery{Board: power, Season: "all", Users: []rankcore.UserID{"abe", "nobody"}})
			if err != nil || len(batch.Users) != 2 || batch.Users[1] != nil || batch.Users[0].Meta != batch.Meta {
				t.Fatalf("%+v, %v", batch, err)
			}
			if page.Entries[0].Score != batch.Users[0].Score {
				t.Fatalf("%d and %d", page.Entries[0].Score, batch.Users[0].Score)
			}
			return page.Meta, batch.Meta, page.Entries[0].Score
		}
		c.absent.Store(rankcore.UserID("nobody"), true)
		for i := range 3 {
			c.score.Store(int64(i))
			if page, batch, score := ask(); page.Status != rankcore.Fresh || batch.Status != rankcore.Fresh || score != rankcore.Score(i) {
				t.Fatalf("%+v, %+v, %d", page, batch, score)
			}
		}
		progress.says(func(now time.Time) (rankcore.Progress, time.Time, bool) {
			return rankcore.Progress{CaughtUp: now.Add(-2 * time.Second)}, now, true
		})
		page, batch, _ := ask()
		for _, m := range []rankcore.Meta{page, batch} {
			if m.Status != rankcore.Stale || m.Reason != rankcore.ApplierBehind {
				t.Errorf("behind an applier that is behind: %+v", m)
			}
		}
	})
}
