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
		fresh := topOf(t, tier)
		a.says(func(time.Time) (rankcore.Progress, time.Time, bool) { return rankcore.Progress{}, time.Time{}, false })
		doubted, standing := topOf(t, tier), rankOf(t, tier, "abe")
		if doubted.Status != rankcore.Stale || doubted.Reason != rankcore.LogUnreachable {
			t.Fatalf("top: %q because %q", doubted.Status, doubted.Reason)
		}
		if standing.Status != rankcore.Stale || standing.Reason != rankcore.LogUnreachable {
			t.Fatalf("rank: %q because %q", standing.Status, standing.Reason)
		}
		if fresh.Status != rankcore.Fresh || fresh.Reason != "" {
			t.Fatal("the shared page was modified")
		}
		if !doubted.AsOf.Equal(fresh.AsOf) {
			t.Fatal("doubt changed as_of")
		}
		a.says(func(now time.Time) (rankcore.Progress, time.Time, bool) {
			return rankcore.Progress{CaughtUp: now}, now, true
		})
		if page := topOf(t, tier); page != fresh {
			t.Fatalf("%+v after the doubt ended, want the same fresh page", page)
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

// With shards out, "not ranked" may be false: the user may stand in what is not there yet.
func TestNoFalse404WhileShardsAreOut(t *testing.T) {
	c := newCore()
	c.absent.Store(rankcore.UserID("abe"), true)
	a := &applier{}
	tier := newTier(t, c, func(cfg *Config) { cfg.Progress = a })
	a.says(func(now time.Time) (rankcore.Progress, time.Time, bool) {
		return rankcore.Progress{CaughtUp: now, ShardsOut: 1}, now, true
	})
	if s := rankOf(t, tier, "abe"); s.Status != rankcore.Updating || s.Reason != rankcore.ShardRebuilding || s.User != "abe" {
		t.Fatalf("%+v, want updating", s)
	}
	a.says(func(now time.Time) (rankcore.Progress, time.Time, bool) {
		return rankcore.Progress{CaughtUp: now}, now, true
	})
	if _, err := tier.Rank(t.Context(), rankcore.RankQuery{Board: power, Season: "all", User: "abe"}); !errors.Is(err, rankcore.ErrNotRanked) {
		t.Fatalf("%v with all shards there, want ErrNotRanked", err)
	}
}
