package cachetier

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

func TestJudge(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	cases := []struct {
		name  string
		p     rankcore.Progress
		heard time.Time
		ok    bool
		want  rankcore.Reason
	}{
		{"all is well", rankcore.Progress{CaughtUp: ago(time.Second)}, ago(time.Second), true, ""},
		{"never heard", rankcore.Progress{}, time.Time{}, false, rankcore.LogUnreachable},
		{"not heard for too long", rankcore.Progress{CaughtUp: now}, ago(time.Second + 1), true, rankcore.LogUnreachable},
		{"behind the log", rankcore.Progress{CaughtUp: ago(time.Second + 1)}, now, true, rankcore.ApplierBehind},
		{"never at the log's end", rankcore.Progress{}, now, true, rankcore.ApplierBehind},
		{"a shard is out", rankcore.Progress{CaughtUp: now, ShardsOut: 1}, now, true, rankcore.ShardRebuilding},
		{"a shard is out and nobody is heard", rankcore.Progress{ShardsOut: 1}, ago(time.Minute), true, rankcore.LogUnreachable},
	}
	for _, c := range cases {
		if got := judge(c.p, c.heard, c.ok, time.Second, now); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestStatusFollowsTheApplier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCore()
		a := &applier{}
		tier := newTier(t, c, func(cfg *Config) { cfg.Progress = a })
		topOf(t, tier)
		fresh := topOf(t, tier)
		a.says(func(time.Time) (rankcore.Progress, time.Time, bool) { return rankcore.Progress{}, time.Time{}, false })
		if page := topOf(t, tier); page != fresh || page.Status != rankcore.Fresh {
			t.Fatalf("%+v within the bound, want the page that has everything up to then", page)
		}
		time.Sleep(power.Freshness)
		page, standing := topOf(t, tier), rankOf(t, tier, "abe")
		if page.Status != rankcore.Stale || page.Reason != rankcore.LogUnreachable {
			t.Fatalf("top: %q because %q", page.Status, page.Reason)
		}
		if standing.Status != rankcore.Stale || standing.Reason != rankcore.LogUnreachable {
			t.Fatalf("rank: %q because %q", standing.Status, standing.Reason)
		}
		if c.status.Load() != rankcore.Fresh {
			t.Fatal("the source's page was modified")
		}
		a.says(func(now time.Time) (rankcore.Progress, time.Time, bool) {
			return rankcore.Progress{CaughtUp: now}, now, true
		})
		if again := topOf(t, tier); again.Status != rankcore.Fresh || again == page {
			t.Fatalf("%+v after the doubt ended, want a page that was read since", again)
		}
	})
}

// An answer called fresh has every write that the log took more than the bound before, however the load and the
// applier's word about it fall together.
func TestFreshIsCountedFromTheAppliersWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &applier{}
		word := time.Now()
		a.says(func(now time.Time) (rankcore.Progress, time.Time, bool) {
			return rankcore.Progress{CaughtUp: word}, now, true
		})
		tier := newTier(t, newCore(), func(cfg *Config) { cfg.Progress = a })
		time.Sleep(power.Freshness * 3 / 4)
		if page := topOf(t, tier); page.Status != rankcore.Fresh {
			t.Fatalf("%q because %q, want fresh", page.Status, page.Reason)
		}
		time.Sleep(power.Freshness / 2)
		if page := topOf(t, tier); page.Status != rankcore.Stale || page.Reason != rankcore.ApplierBehind {
			t.Fatalf("%q because %q, a quarter past the bound since the applier's word", page.Status, page.Reason)
		}
	})
}

// Whoever joins a load that takes long asked later than its first caller: what that one may call fresh can be too old.
func TestALoadIsNotSharedPastItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := newCore(), &applier{}
		tier := newTier(t, c, func(cfg *Config) { cfg.Progress = a })
		word := time.Now()
		a.says(func(now time.Time) (rankcore.Progress, time.Time, bool) {
			return rankcore.Progress{CaughtUp: word}, now, true
		})
		time.Sleep(power.Freshness * 9 / 10)
		held := newHold()
		c.hold.Store(held)
		first, second := make(chan *rankcore.Page, 1), make(chan *rankcore.Page, 1)
		go func() { first <- topOf(t, tier) }()
		<-held.read
		c.hold.Store(nil)
		time.Sleep(power.Freshness / 5)
		go func() { second <- topOf(t, tier) }()
		synctest.Wait()
		close(held.release)
		if page := <-first; page.Status != rankcore.Fresh {
			t.Errorf("the first: %q because %q, want fresh", page.Status, page.Reason)
		}
		if page := <-second; page.Status != rankcore.Stale || page.Reason != rankcore.ApplierBehind {
			t.Errorf("the second: %q because %q, a tenth past the bound since the applier's word", page.Status, page.Reason)
		}
	})
}

// A doubted answer is left for a load when the doubt ends, and may be served again when it comes back. If the load
// found the core sick, with a last answer that is newer, as_of must not go back after that has been shown.
func TestDoubtThatComesAndGoesTurnsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := newCore(), &applier{}
		tier := newTier(t, c, func(cfg *Config) { cfg.Progress = a })
		out := 1
		a.says(func(now time.Time) (rankcore.Progress, time.Time, bool) {
			return rankcore.Progress{CaughtUp: now, ShardsOut: out}, now, true
		})
		rankOf(t, tier, "abe")
		time.Sleep(10 * time.Millisecond)
		out = 0
		c.status.Store(rankcore.Stale)
		held := newHold()
		c.hold.Store(held)
		caller := make(chan *rankcore.Standing, 1)
		go func() { caller <- rankOf(t, tier, "abe") }()
		<-held.read
		out = 1
		c.hold.Store(nil)
		close(held.release)
		shown := <-caller
		if next := rankOf(t, tier, "abe"); next.AsOf.Before(shown.AsOf) {
			t.Errorf("as of %v after an answer as of %v", next.AsOf, shown.AsOf)
		}
	})
}

// The source's own doubt has its reason, whatever the applier says.
func TestNothingIsMadeFresher(t *testing.T) {
	c := newCore()
	tier := newTier(t, c)
	for _, status := range []rankcore.Status{rankcore.Stale, rankcore.Partial, rankcore.Updating} {
		c.status.Store(status)
		tier.Suspect()
		if page := topOf(t, tier); page.Status != status || page.Reason != rankcore.CoreDown {
			t.Errorf("%q became %q because %q", status, page.Status, page.Reason)
		}
	}
}

// While shards are out or behind, "not ranked" may be false: the user may stand in what is not there yet.
func TestNoFalse404WhileShardsAreNotCurrent(t *testing.T) {
	c := newCore()
	c.absent.Store(rankcore.UserID("abe"), true)
	a := &applier{}
	tier := newTier(t, c, func(cfg *Config) { cfg.Progress = a })
	for reason, p := range map[rankcore.Reason]rankcore.Progress{
		rankcore.ShardRebuilding: {CaughtUp: time.Now().Add(time.Hour), ShardsOut: 1}, rankcore.ApplierBehind: {},
	} {
		a.says(func(now time.Time) (rankcore.Progress, time.Time, bool) { return p, now, true })
		tier.Suspect()
		if s := rankOf(t, tier, "abe"); s.Status != rankcore.Updating || s.Reason != reason || s.User != "abe" {
			t.Fatalf("%+v, want updating because %s", s, reason)
		}
	}
	a.says(func(now time.Time) (rankcore.Progress, time.Time, bool) {
		return rankcore.Progress{CaughtUp: now}, now, true
	})
	if _, err := tier.Rank(t.Context(), rankcore.RankQuery{Board: power, Season: "all", User: "abe"}); !errors.Is(err, rankcore.ErrNotRanked) {
		t.Fatalf("%v with all shards there, want ErrNotRanked", err)
	}
}
