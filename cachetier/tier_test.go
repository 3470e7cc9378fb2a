package cachetier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

func TestServedFromMemoryWithinTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		tier := newTier(t, c)
		topOf(t, tier)
		rankOf(t, tier, "abe")
		page, standing := topOf(t, tier), rankOf(t, tier, "abe")
		for range 100 {
			if topOf(t, tier) != page || rankOf(t, tier, "abe") != standing {
				t.Fatal("an answer within the bound was not served from memory")
			}
		}
		if n := c.loads.Load(); n != 2 {
			t.Fatalf("%d loads, want one for each key", n)
		}
		c.score.Store(5)
		time.Sleep(time.Second) // the bound: nobody asked, so nobody refreshed
		if got := topOf(t, tier).Entries[0].Score; got != 5 {
			t.Fatalf("past the bound the score is %d, want 5", got)
		}
		if got := rankOf(t, tier, "abe").Score; got != 5 {
			t.Fatalf("past the bound the user's score is %d, want 5", got)
		}
	})
}

// A key that is read all the time is refreshed behind its readers: none of them waits.
func TestHotKeysAreRefreshedBehindTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		tier := newTier(t, c)
		topOf(t, tier)
		for range 1000 {
			time.Sleep(10 * time.Millisecond)
			asked := time.Now()
			page := topOf(t, tier)
			if age := asked.Sub(page.AsOf); age >= power.Freshness {
				t.Fatalf("an answer %v old", age)
			}
			synctest.Wait()
		}
		if misses := counted(t, tier.metrics.misses[kindTop]); misses != 1 {
			t.Fatalf("%v readers waited, want the first only", misses)
		}
		if n := c.loads.Load(); n < 10 || n > 30 {
			t.Fatalf("%d loads in 10 s, want about two in a second", n)
		}
	})
}

func TestBusyBoardIsRefreshedAtABoundedPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		tier := newTier(t, c)
		topOf(t, tier)
		for i := range 1000 { // one second of changes and reads
			time.Sleep(time.Millisecond)
			c.score.Store(int64(i))
			tier.Evict(rankcore.Change{Board: "power", To: rankcore.Position{Seq: 1}, Users: []rankcore.UserID{"somebody"}})
			topOf(t, tier)
			synctest.Wait()
			if behind := int64(i) - int64(topOf(t, tier).Entries[0].Score); behind > 101 {
				t.Fatalf("the top is %d ms behind", behind)
			}
		}
		if n := c.loads.Load(); n > 11 {
			t.Fatalf("%d loads in a second of changes, want at most 11", n)
		}
	})
}

func TestEveryKeyHasItsOwnAnswer(t *testing.T) {
	c := newCore()
	tier := newTier(t, c)
	other := &rankcore.Board{ID: "other", Shards: 1, Freshness: time.Second}
	tops := []rankcore.TopQuery{
		{Board: power, Season: "all", Limit: 1},
		{Board: other, Season: "all", Limit: 1},
		{Board: power, Season: "day:2026-11-30", Limit: 1},
		{Board: power, Season: "all", Limit: 2},
		{Board: power, Season: "all", Offset: 1, Limit: 1},
	}
	for i, q := range tops {
		page, err := tier.Top(t.Context(), q)
		if err != nil || page.Season != q.Season || len(page.Entries) != q.Limit {
			t.Fatalf("%+v: %+v, %v", q, page, err)
		}
		if n := c.loads.Load(); n != int64(i+1) {
			t.Fatalf("%+v was answered by another key", q)
		}
	}
	ranks := []rankcore.RankQuery{
		{Board: power, Season: "all", User: "a"},
		{Board: power, Season: "all", User: "b"},
		{Board: other, Season: "all", User: "a"},
		{Board: power, Season: "all", User: "a", Precision: rankcore.Approx},
	}
	for i, q := range ranks {
		standing, err := tier.Rank(t.Context(), q)
		if err != nil || standing.User != q.User {
			t.Fatalf("%+v: %+v, %v", q, standing, err)
		}
		if n := c.loads.Load(); n != int64(len(tops)+i+1) {
			t.Fatalf("%+v was answered by another key", q)
		}
	}
}

// An exact rank is true for some instant between request and reply, so memory cannot give it.
func TestExactIsAlwaysRead(t *testing.T) {
	c := newCore()
	tier := newTier(t, c)
	for i := range 3 {
		c.score.Store(int64(i))
		s, err := tier.Rank(t.Context(), rankcore.RankQuery{Board: power, Season: "all", User: "abe", Precision: rankcore.Exact})
		if err != nil || s.Score != rankcore.Score(i) {
			t.Fatalf("exact rank %d: %+v, %v", i, s, err)
		}
	}
}

// One thousand callers miss at once and the first of them leaves.
func TestFirstCallersLeavingFailsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		tier := newTier(t, c)
		held := newHold()
		c.hold.Store(held)
		query := rankcore.RankQuery{Board: power, Season: "all", User: "abe"}

		ctx, leave := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { _, err := tier.Rank(ctx, query); first <- err }()
		<-held.read
		var others sync.WaitGroup
		errs := make(chan error, 999)
		for range cap(errs) {
			others.Go(func() { _, err := tier.Rank(t.Context(), query); errs <- err })
		}
		synctest.Wait()
		leave()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v, want its own cancellation", err)
		}
		close(held.release)
		others.Wait()
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Fatalf("who stayed got %v", err)
			}
		}
		if n := c.loads.Load(); n != 1 {
			t.Fatalf("%d loads, want 1", n)
		}
	})
}

func TestUnknownUsersDoNotHammerTheSource(t *testing.T) {
	c := newCore()
	c.absent.Store(rankcore.UserID("nobody"), true)
	tier := newTier(t, c)
	ask := func() error {
		_, err := tier.Rank(t.Context(), rankcore.RankQuery{Board: power, Season: "all", User: "nobody"})
		return err
	}
	for range 100 {
		if err := ask(); !errors.Is(err, rankcore.ErrNotRanked) {
			t.Fatalf("got %v, want ErrNotRanked", err)
		}
	}
	if n := c.loads.Load(); n != 1 {
		t.Fatalf("%d loads for 100 questions, want 1", n)
	}
	c.absent.Clear() // the first score
	tier.Evict(rankcore.Change{Board: "power", To: rankcore.Position{Seq: 1}, Users: []rankcore.UserID{"nobody"}})
	if err := ask(); err != nil {
		t.Fatalf("after the first score: %v", err)
	}
	c.absent.Store(rankcore.UserID("nobody"), true) // and removed again
	tier.Evict(rankcore.Change{Board: "power", To: rankcore.Position{Seq: 2}, Users: []rankcore.UserID{"nobody"}})
	if err := ask(); !errors.Is(err, rankcore.ErrNotRanked) {
		t.Fatalf("after the removal: %v, want ErrNotRanked", err)
	}
}

// Names that nobody has, and names that somebody has, far more than fit, do not grow the cache past its bound.
func TestBoundedWhateverIsAsked(t *testing.T) {
	const bound = 256 << 10
	c := newCore()
	registry := prometheus.NewRegistry()
	tier := newTier(t, c, func(cfg *Config) { cfg.MaxBytes, cfg.Registerer = bound, registry })
	slow := &rankcore.Board{ID: "slow", Shards: 1, Freshness: time.Hour} // nothing expires meanwhile
	e := &entry{until: time.Now().Add(time.Hour)}
	standing := &entry{until: e.until, standing: &rankcore.Standing{}}
	for i := range 5_000 { // straight into the caches: the flights before them are not what is measured
		user := rankcore.UserID(fmt.Sprintf("random%d", i))
		tier.store(tier.askRank(rankcore.RankQuery{Board: slow, Season: "all", User: user}), e)
		standing.standing.Status = rankcore.Fresh
		tier.store(tier.askRank(rankcore.RankQuery{Board: slow, Season: "all", User: user + "!"}), standing)
	}
	tier.answers.CleanUp()
	tier.absent.CleanUp()
	if held := tier.bytes(); held > bound || held < bound/2 {
		t.Fatalf("holds %v bytes, want up to %d", held, bound)
	}
	if counted(t, tier.metrics.evictions) == 0 {
		t.Fatal("no eviction was counted")
	}
}

func TestAnswersThatAreNotFreshAreKeptShortly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		c.status.Store(rankcore.Updating)
		tier := newTier(t, c)
		for range 100 {
			if page := topOf(t, tier); page.Status != rankcore.Updating || page.Reason != rankcore.CoreDown {
				t.Fatalf("%q because %q, want the source's own words", page.Status, page.Reason)
			}
		}
		if n := c.loads.Load(); n != 1 {
			t.Fatalf("%d loads, want 1: the core is sick enough", n)
		}
		c.status.Store(rankcore.Fresh)
		time.Sleep(shortLife)
		if page := topOf(t, tier); page.Status != rankcore.Fresh {
			t.Fatalf("%q after the core recovered", page.Status)
		}
	})
}

// A partial answer is never kept as a fresh one: it is asked for again within 100 ms, behind its readers, who do not wait
// for a core that is being tried, and is gone at the first look after that.
func TestPartialAnswersAreReadAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		c.status.Store(rankcore.Partial)
		tier := newTier(t, c)
		for range 50 {
			if page := topOf(t, tier); page.Status != rankcore.Partial {
				t.Fatalf("%q because %q, want the source's own word", page.Status, page.Reason)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := c.loads.Load(); n < 4 || n > 6 {
			t.Fatalf("%d loads in half a second, want about 5", n)
		}
		c.status.Store(rankcore.Fresh)
		time.Sleep(shortLife)
		topOf(t, tier)
		synctest.Wait()
		if page := topOf(t, tier); page.Status != rankcore.Fresh {
			t.Fatalf("%q after the core recovered", page.Status)
		}
		c.status.Store(rankcore.Partial)
		time.Sleep(power.Freshness + graceLife)
		topOf(t, tier)
		c.status.Store(rankcore.Fresh)
		time.Sleep(shortLife + graceLife)
		if page := topOf(t, tier); page.Status != rankcore.Fresh {
			t.Fatalf("%q, which nobody had asked for lately", page.Status)
		}
	})
}

// A refresh that finds the core sick does not take away an answer that is still good.
func TestSickRefreshKeepsTheGoodAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		tier := newTier(t, c)
		topOf(t, tier)
		c.status.Store(rankcore.Updating)
		for range 99 {
			time.Sleep(10 * time.Millisecond)
			if page := topOf(t, tier); page.Status != rankcore.Fresh {
				t.Fatalf("%q within the bound of a good answer", page.Status)
			}
			synctest.Wait()
		}
		if c.loads.Load() < 2 {
			t.Fatal("nothing was refreshed")
		}
		time.Sleep(10 * time.Millisecond)
		if page := topOf(t, tier); page.Status != rankcore.Updating {
			t.Fatalf("%q past the bound, want what the source says", page.Status)
		}
	})
}

func TestHungSourceFailsWithinTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		held := newHold()
		c.hold.Store(held)
		tier := newTier(t, c)
		asked := time.Now()
		_, err := tier.Top(t.Context(), rankcore.TopQuery{Board: power, Season: "all", Limit: 1})
		if !errors.Is(err, rankcore.ErrUnavailable) || time.Since(asked) != DefaultLoadTimeout {
			t.Fatalf("%v after %v, want ErrUnavailable after %v", err, time.Since(asked), DefaultLoadTimeout)
		}
	})
}

func TestPanicOfTheSourceIsAnError(t *testing.T) {
	tier := newTier(t, panics{})
	if _, err := tier.Top(t.Context(), rankcore.TopQuery{Board: power, Season: "all"}); !errors.Is(err, rankcore.ErrUnavailable) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
}

type panics struct{ rankcore.Reader }

func (panics) Top(context.Context, rankcore.TopQuery) (*rankcore.Page, error) {
	panic("a broken source")
}

func counted(t *testing.T, c prometheus.Collector) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}
