package cachetier

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

func by(seq uint64, users ...rankcore.UserID) rankcore.Change {
	return rankcore.Change{Board: "power", To: rankcore.Position{Seq: seq, Time: 1}, Users: users}
}

// What a change reaches, at once; everything else is still served from memory.
func TestWhatAChangeReaches(t *testing.T) {
	all := rankcore.Change{Board: "power", To: rankcore.Position{Seq: 1}, All: true}
	cases := []struct {
		name           string
		tell           func(*Tier)
		top, abe, bill bool // is read again
	}{
		{"a user", func(t *Tier) { t.Evict(by(1, "abe")) }, false, true, false},
		{"users", func(t *Tier) { t.Evict(by(1, "abe", "bill")) }, false, true, true},
		{"all users, by the applier", func(t *Tier) { t.Evict(all) }, false, true, true},
		{"everything, by hand", func(t *Tier) { t.Evict(rankcore.Change{Board: "power", All: true}) }, true, true, true},
		{"the top, by hand", func(t *Tier) { t.Evict(rankcore.Change{Board: "power", Top: true}) }, true, false, false},
		{"another board", func(t *Tier) { t.Evict(rankcore.Change{Board: "other", All: true}); t.Floor("other") }, false, false, false},
		{"a floor", func(t *Tier) { t.Floor("power") }, true, true, true},
		{"suspicion", func(t *Tier) { t.Suspect() }, true, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newCore()
				tier := newTier(t, source)
				topOf(t, tier)
				rankOf(t, tier, "abe")
				rankOf(t, tier, "bill")
				source.score.Store(9)
				c.tell(tier)
				want := map[bool]rankcore.Score{true: 9, false: 0}
				if got := topOf(t, tier).Entries[0].Score; got != want[c.top] {
					t.Errorf("top: %d, want %d", got, want[c.top])
				}
				if got := rankOf(t, tier, "abe").Score; got != want[c.abe] {
					t.Errorf("abe: %d, want %d", got, want[c.abe])
				}
				if got := rankOf(t, tier, "bill").Score; got != want[c.bill] {
					t.Errorf("bill: %d, want %d", got, want[c.bill])
				}
			})
		})
	}
}

// A load that has read the old value is overtaken by the change, and returns after it: it is
// neither kept nor given to who asked.
func TestOvertakenLoads(t *testing.T) {
	tells := map[string]func(*Tier, uint64){
		"evict":   func(t *Tier, n uint64) { t.Evict(by(n, "abe")) },
		"floor":   func(t *Tier, _ uint64) { t.Floor("power") },
		"suspect": func(t *Tier, _ uint64) { t.Suspect() },
	}
	for name, tell := range tells {
		t.Run(name, func(t *testing.T) {
			c := newCore()
			tier := newTier(t, c)
			for round := range uint64(200) {
				tell(tier, round) // nothing in memory
				held := newHold()
				c.hold.Store(held)
				caller := make(chan rankcore.Score, 1)
				go func() { caller <- rankOf(t, tier, "abe").Score }()
				<-held.read
				c.hold.Store(nil)
				c.score.Store(int64(round + 1))
				tell(tier, round)
				if got := rankOf(t, tier, "abe").Score; got != rankcore.Score(round+1) {
					t.Fatalf("round %d: a reader after the change joined the load before it: %d", round, got)
				}
				close(held.release)
				if got := <-caller; got != rankcore.Score(round+1) {
					t.Fatalf("round %d: the overtaken load was given out: %d", round, got)
				}
				if got := rankOf(t, tier, "abe").Score; got != rankcore.Score(round+1) {
					t.Fatalf("round %d: the overtaken load was kept: %d", round, got)
				}
			}
		})
	}
}

// On a board that is evicted all the time a reader must get an answer, and the source must not be asked
// without end for it.
func TestEvictedAllTheTime(t *testing.T) {
	c := newCore()
	evictor := &evicting{core: c}
	evictor.tier = newTier(t, evictor)
	if got := rankOf(t, evictor.tier, "abe"); got.Status != rankcore.Fresh {
		t.Fatalf("%+v", got)
	}
	if n := c.loads.Load(); n != maxTries {
		t.Fatalf("%d loads, want %d", n, maxTries)
	}
}

// evicting is a source that is changed while it is read, each time.
type evicting struct {
	*core
	tier *Tier
}

func (e *evicting) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	standing, err := e.core.Rank(ctx, q)
	e.tier.Evict(by(1, q.User))
	return standing, err
}

// An overtaken answer that is given out all the same may have been read after the one that is kept. Whoever has
// seen it must not see as_of go back with the next answer.
func TestOvertakenAnswerIsNotTheNewer(t *testing.T) {
	late := &readsLate{evicting: evicting{core: newCore()}, began: make(chan struct{}), release: make(chan struct{})}
	late.tier = newTier(t, late)
	caller := make(chan *rankcore.Standing, 1)
	go func() { caller <- rankOf(t, late.tier, "abe") }()
	<-late.began
	late.tier.Evict(by(2, "abe"))
	kept := rankOf(t, late.tier, "abe")
	close(late.release)
	if given := <-caller; given.AsOf.After(kept.AsOf) {
		t.Errorf("given as of %v, and what is served from now on is as of %v", given.AsOf, kept.AsOf)
	}
}

// readsLate is changed while it is read, and then reads late, once.
type readsLate struct {
	evicting
	asked          atomic.Int64
	began, release chan struct{}
}

func (r *readsLate) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	switch n := r.asked.Add(1); {
	case n < maxTries:
		return r.evicting.Rank(ctx, q)
	case n == maxTries:
		close(r.began)
		<-r.release
	}
	return r.core.Rank(ctx, q)
}

// Readers and a writer run against each other: whoever asks after the writer's change was told sees it.
func TestReadYourEviction(t *testing.T) {
	c := newCore()
	tier := newTier(t, c)
	var told atomic.Int64
	var readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	wrong := make(chan string, 4)
	for range cap(wrong) {
		readers.Go(func() {
			for ctx.Err() == nil {
				want := told.Load()
				standing, err := tier.Rank(t.Context(), rankcore.RankQuery{Board: power, Season: "all", User: "abe"})
				if err != nil || int64(standing.Score) < want {
					wrong <- fmt.Sprintf("got %+v, %v after %d was told", standing, err, want)
					return
				}
			}
		})
	}
	for n := range int64(5000) {
		c.score.Store(n)
		tier.Evict(by(uint64(n), "abe"))
		told.Store(n)
	}
	stop()
	readers.Wait()
	select {
	case what := <-wrong:
		t.Fatal(what)
	default:
	}
}

// Close waits for loads that nobody waits for.
func TestCloseEndsLoads(t *testing.T) {
	c := newCore()
	tier, err := New(Config{Source: c, Progress: &applier{}})
	if err != nil {
		t.Fatal(err)
	}
	held := newHold()
	c.hold.Store(held)
	ctx, leave := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer leave()
	if _, err := tier.Top(ctx, rankcore.TopQuery{Board: power, Season: "all"}); err == nil {
		t.Fatal("a held load was answered")
	}
	tier.Close() // goleak looks for what it leaves
}
