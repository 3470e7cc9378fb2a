package degrade

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

func TestHealthyCoreIsPassedThrough(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core})
	wantTop(t, g, rankcore.Fresh, "")
	standing, err := g.Rank(t.Context(), rankQuery("abe"))
	if err != nil || standing.Rank != 7 || standing.Status != rankcore.Fresh {
		t.Fatalf("rank: %+v, %v", standing, err)
	}
	if _, err := g.Rank(t.Context(), rankQuery("nobody")); !errors.Is(err, rankcore.ErrNotRanked) {
		t.Fatalf("rank of nobody: %v, want ErrNotRanked", err)
	}
}

// A core that accepts and never answers, and does not even look at its context.
func TestDeadlineBindsAHungCore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		g := NewGuard(Config{Source: core})
		first := wantTop(t, g, rankcore.Fresh, "")
		core.sicken(hangs(t))
		asked := time.Now()
		stale := wantTop(t, g, rankcore.Stale, rankcore.CoreSlow)
		if waited := time.Since(asked); waited != DefaultTimeout {
			t.Fatalf("answered after %v, want the deadline, %v", waited, DefaultTimeout)
		}
		if !stale.AsOf.Equal(first.AsOf) || len(stale.Entries) != 1 {
			t.Fatalf("the stale page is not the last good one: %+v", stale)
		}
		if first.Status != rankcore.Fresh {
			t.Fatal("the shared page was modified")
		}
	})
}

func TestOutageAnswersWithoutErrors(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core})
	if _, err := g.Rank(t.Context(), rankQuery("abe")); err != nil {
		t.Fatal(err)
	}
	core.sicken(down)

	wantTop(t, g, rankcore.Updating, rankcore.CoreDown)
	known, err := g.Rank(t.Context(), rankQuery("abe"))
	if err != nil || known.Status != rankcore.Stale || known.Rank != 7 || known.Reason != rankcore.CoreDown {
		t.Fatalf("a known user: %+v, %v", known, err)
	}
	// Whether this one is ranked cannot be known now: a 404 would be a guess.
	unknown, err := g.Rank(t.Context(), rankQuery("nobody"))
	if err != nil || unknown.Status != rankcore.Updating || unknown.User != "nobody" {
		t.Fatalf("an unknown user: %+v, %v", unknown, err)
	}
}

// What the source itself calls stale was shown to readers: in an outage nothing older is.
func TestAStaleAnswerDoesNotTurnAsOfBack(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core})
	wantTop(t, g, rankcore.Fresh, "")
	m := freshNow("all")
	m.Status, m.Reason, m.AsOf = rankcore.Stale, rankcore.LogUnreachable, m.AsOf.Add(time.Hour)
	well := core.top
	core.top = func(context.Context, rankcore.TopQuery) (*rankcore.Page, error) { return &rankcore.Page{Meta: m}, nil }
	wantTop(t, g, rankcore.Stale, rankcore.LogUnreachable)
	core.top = well
	core.sicken(down)
	if page := wantTop(t, g, rankcore.Stale, rankcore.CoreDown); !page.AsOf.Equal(m.AsOf) {
		t.Errorf("as of %v, after %v", page.AsOf, m.AsOf)
	}
}

func TestRemovedUserDoesNotComeBackInAnOutage(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core})
	if _, err := g.Rank(t.Context(), rankQuery("abe")); err != nil {
		t.Fatal(err)
	}
	core.sicken(func(context.Context) error { return rankcore.ErrNotRanked })
	if _, err := g.Rank(t.Context(), rankQuery("abe")); !errors.Is(err, rankcore.ErrNotRanked) {
		t.Fatalf("after the removal: %v, want ErrNotRanked", err)
	}
	core.sicken(down)
	standing, err := g.Rank(t.Context(), rankQuery("abe"))
	if err != nil || standing.Status != rankcore.Updating {
		t.Fatalf("in the outage: %+v, %v, want updating", standing, err)
	}
}

func TestReasonOfTheCoreIsKept(t *testing.T) {
	cases := []struct {
		err  error
		want rankcore.Reason
	}{
		{&rankcore.Unavailable{Reason: rankcore.ShardRebuilding}, rankcore.ShardRebuilding},
		{fmt.Errorf("top of power: %w", &rankcore.Unavailable{Reason: rankcore.CoreSlow}), rankcore.CoreSlow},
		{rankcore.ErrUnavailable, rankcore.CoreDown},
		{fmt.Errorf("shard 3: %w", context.DeadlineExceeded), rankcore.CoreSlow},
		{errors.New("connection refused"), rankcore.CoreDown},
	}
	for _, c := range cases {
		core := newSickable()
		core.sicken(func(context.Context) error { return c.err })
		wantTop(t, NewGuard(Config{Source: core}), rankcore.Updating, c.want)
	}
}

func TestCallerWhoLeavesGetsItsOwnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		core.sicken(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		g := NewGuard(Config{Source: core})
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, leave)
		if _, err := g.Top(ctx, topQuery()); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want the caller's cancellation", err)
		}
	})
}

func TestPanicOfTheCoreIsAnOutage(t *testing.T) {
	core := newSickable()
	core.sicken(func(context.Context) error { panic("a broken store") })
	wantTop(t, NewGuard(Config{Source: core}), rankcore.Updating, rankcore.CoreDown)
}

// Hung questions hold their places, so what piles up behind a hung core is bounded, and the rest is shed early.
func TestFullGateSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		g := NewGuard(Config{Source: core, Concurrency: 2})
		wantTop(t, g, rankcore.Fresh, "")
		core.sicken(hangs(t))
		for range 2 {
			go func() { _, _ = g.Top(context.Background(), topQuery()) }()
		}
		synctest.Wait()
		asked := time.Now()
		wantTop(t, g, rankcore.Stale, rankcore.CoreSlow)
		if waited := time.Since(asked); waited != DefaultTimeout/10 {
			t.Fatalf("shed after %v, want %v", waited, DefaultTimeout/10)
		}
		if n := core.asked.Load(); n != 3 {
			t.Fatalf("the core was asked %d times, want 3: one healthy and two hung", n)
		}
		time.Sleep(time.Second) // both callers have their answers by now
	})
}

func TestAnswersAreNotMixedUp(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core})
	other := &rankcore.Board{ID: "other", Shards: 1, Freshness: time.Second}
	wantTop(t, g, rankcore.Fresh, "")
	core.sicken(down)
	for name, q := range map[string]rankcore.TopQuery{
		"board":  {Board: other, Season: "all", Limit: 10},
		"season": {Board: board, Season: "day:2026-11-30", Limit: 10},
		"offset": {Board: board, Season: "all", Offset: 1, Limit: 10},
		"limit":  {Board: board, Season: "all", Limit: 11},
	} {
		page, err := g.Top(t.Context(), q)
		if err != nil || page.Status != rankcore.Updating {
			t.Errorf("another %s got the remembered page: %+v, %v", name, page, err)
		}
	}
}

// An estimate rests on counts that were read a while ago. After an exact rank of the same version it would turn as_of
// back, and know less; when something has changed since, it is the answer.
func TestAnEstimateDoesNotTurnAsOfBack(t *testing.T) {
	core, now := newSickable(), time.Now()
	answer := func(asOf time.Time, seq uint64, p rankcore.Precision) {
		core.rank = func(_ context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
			m := rankcore.Meta{Season: q.Season, Status: rankcore.Fresh, AsOf: asOf, Version: rankcore.Position{Seq: seq, Time: int64(seq)}}
			return &rankcore.Standing{Meta: m, User: q.User, Score: 3, Precision: p}, nil
		}
	}
	g := NewGuard(Config{Source: core})
	ask := func() *rankcore.Standing {
		t.Helper()
		s, err := g.Rank(t.Context(), rankcore.RankQuery{Board: board, Season: "all", User: "abe"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	answer(now, 5, rankcore.Exact)
	exact := ask()
	answer(now.Add(-300*time.Millisecond), 5, rankcore.Approx)
	if s := ask(); s != exact {
		t.Errorf("%v as of %v after an answer of the same version as of %v", s.Precision, s.AsOf, exact.AsOf)
	}
	answer(now.Add(-300*time.Millisecond), 6, rankcore.Approx)
	if s := ask(); s.Version.Seq != 6 {
		t.Errorf("version %v, want the one that has what changed", s.Version)
	}
}
