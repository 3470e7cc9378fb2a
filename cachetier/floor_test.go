package cachetier

import (
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

// Once a board has a floor, what the source falls back on is shown only if it is not older.
func TestNothingOlderThanTheFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		tier := newTier(t, c)
		ask := func() map[string]rankcore.Meta {
			walk, err := tier.Rows(t.Context(), rankcore.RowsQuery{Board: power, Season: "all", Limit: 2})
			if err != nil {
				t.Fatal(err)
			}
			batch, err := tier.Ranks(t.Context(), rankcore.RanksQuery{Board: power, Season: "all", Users: []rankcore.UserID{"abe"}})
			if err != nil {
				t.Fatal(err)
			}
			return map[string]rankcore.Meta{"top": topOf(t, tier).Meta, "rank": rankOf(t, tier, "abe").Meta, "walk": walk.Meta, "batch": batch.Meta}
		}
		c.asOf = time.Now()
		c.status.Store(rankcore.Stale)
		for what, m := range ask() {
			if m.Status != rankcore.Stale {
				t.Errorf("%s without a floor: %s, want what there is", what, m.Status)
			}
		}
		time.Sleep(time.Millisecond)
		tier.Floor(power.ID)
		for what, m := range ask() {
			if m.Status != rankcore.Updating || m.Reason != rankcore.CoreDown {
				t.Errorf("%s from before the floor: %s because %s, want updating", what, m.Status, m.Reason)
			}
		}
		if page := topOf(t, tier); len(page.Entries) > 0 {
			t.Errorf("rows from before the floor: %v", page.Entries)
		}
		c.asOf = time.Now()
		time.Sleep(time.Second)
		for what, m := range ask() {
			if m.Status != rankcore.Stale {
				t.Errorf("%s from after the floor: %s, want what there is", what, m.Status)
			}
		}
	})
}
