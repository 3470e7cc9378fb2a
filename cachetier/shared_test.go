package cachetier

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

// shared is a source of rows that were read for others before the tier asked.
type shared struct {
	*core
	age   time.Duration // of what is answered, where a question allows it
	since atomic.Int64  // of the last question, Unix nanoseconds; 0: none
}

func (s *shared) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	page, err := s.core.Top(ctx, q)
	read := time.Now().Add(-s.age)
	s.since.Store(0)
	if !q.Since.IsZero() {
		s.since.Store(q.Since.UnixNano())
		read = later(read, q.Since)
	}
	page.AsOf, page.Current = read, read
	return page, err
}

func (s *shared) asked(t *testing.T, tier *Tier, since time.Time) (page *rankcore.Page, loads int64) {
	t.Helper()
	before := s.loads.Load()
	page, err := tier.Top(t.Context(), rankcore.TopQuery{Board: power, Season: "all", Limit: 1, Since: since})
	if err != nil || page.Status != rankcore.Fresh {
		t.Fatal(page, err)
	}
	return page, s.loads.Load() - before
}

// Rows live for the bound from the moment up to which they have everything, whenever they were loaded.
func TestSharedRowsAreAsOldAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{core: newCore(), age: 400 * time.Millisecond}
		tier := newTier(t, s)
		first, _ := s.asked(t, tier, time.Time{})
		for range 20 {
			time.Sleep(power.Freshness / 10)
			page, _ := s.asked(t, tier, time.Time{})
			if age := time.Since(page.AsOf); age > power.Freshness {
				t.Fatalf("rows %v old are called fresh", age)
			}
			if page.AsOf.Before(first.AsOf) {
				t.Fatal("rows went back")
			}
			first = page
		}
	})
}

// Who must not be answered by what was read before a moment is not, neither from memory nor from the source.
func TestSharedRowsAreReadAfterWhatTheyMustHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{core: newCore(), age: 400 * time.Millisecond}
		tier := newTier(t, s)
		if s.asked(t, tier, time.Time{}); s.since.Load() != 0 {
			t.Error("a question that wants nothing of its answer wants something")
		}
		heard := time.Now().Add(-200 * time.Millisecond) // the rows were loaded after that, and read before
		if page, loads := s.asked(t, tier, heard); loads != 1 || page.AsOf.Before(heard) {
			t.Errorf("%d loads of what was read %v too early", loads, heard.Sub(page.AsOf))
		}
		if page, loads := s.asked(t, tier, heard); loads != 0 || page.AsOf.Before(heard) {
			t.Errorf("asked again: %d loads", loads)
		}
		for what, forget := range map[string]func(){
			"floor":   func() { tier.Floor(power.ID) },
			"suspect": tier.Suspect,
			"by hand": func() { tier.Evict(rankcore.Change{Board: power.ID, Top: true}) },
		} {
			time.Sleep(time.Millisecond)
			forget()
			now := time.Now()
			if page, loads := s.asked(t, tier, time.Time{}); loads != 1 || page.AsOf.Before(now) {
				t.Errorf("%s: %d loads of what was read %v too early", what, loads, now.Sub(page.AsOf))
			}
		}
	})
}
