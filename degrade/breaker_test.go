package degrade

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// tripped is a guard whose breaker has just opened on fault.
func tripped(t *testing.T, core *sickable, fault func(context.Context) error) *Guard {
	t.Helper()
	g := NewGuard(Config{Source: core})
	wantTop(t, g, rankcore.Fresh, "")
	core.sicken(fault)
	for range tripRequests {
		if _, err := g.Top(t.Context(), topQuery()); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func TestBreakerOpensAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		g := tripped(t, core, down)
		asked := core.asked.Load()
		for range 100 {
			wantTop(t, g, rankcore.Stale, rankcore.CoreDown)
		}
		if n := core.asked.Load(); n != asked {
			t.Fatalf("an open breaker let %d questions through", n-asked)
		}
		core.heal()
		time.Sleep(openFor + time.Millisecond)
		for range halfOpenProbes + 100 {
			wantTop(t, g, rankcore.Fresh, "")
		}
	})
}

func TestOpenBreakerSaysWhyItOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		slow := func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				return nil
			}
		}
		g := NewGuard(Config{Source: core, Timeout: 10 * time.Millisecond})
		core.sicken(slow)
		for range tripRequests {
			wantTop(t, g, rankcore.Updating, rankcore.CoreSlow)
		}
		asked := core.asked.Load()
		wantTop(t, g, rankcore.Updating, rankcore.CoreSlow)
		if core.asked.Load() != asked {
			t.Fatal("the breaker did not open")
		}
	})
}

// Probes that hang must not keep a half-open breaker rejecting for ever.
func TestHungProbesDoNotWedge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		g := tripped(t, core, down)
		core.sicken(hangs(t))
		for range 5 { // five rounds of half-open, each with a probe that hangs
			time.Sleep(openFor + time.Millisecond)
			wantTop(t, g, rankcore.Stale, rankcore.CoreSlow)
		}
		core.heal()
		healed := time.Now()
		for {
			page, err := g.Top(t.Context(), topQuery())
			if err != nil {
				t.Fatal(err)
			}
			if page.Status == rankcore.Fresh {
				break
			}
			if time.Since(healed) > openFor+2*time.Second {
				t.Fatal("still not asking a core that recovered")
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// Callers that leave during half-open free their probe's place.
func TestAbandonedProbesDoNotWedge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		g := tripped(t, core, down)
		core.sicken(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		time.Sleep(openFor + time.Millisecond)
		for range 10 * halfOpenProbes {
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, leave)
			if _, err := g.Top(ctx, topQuery()); err == nil {
				t.Fatal("answered a caller that had left, from a core that hangs")
			}
		}
		core.heal()
		wantTop(t, g, rankcore.Fresh, "")
	})
}

// Unknown users, callers that leave and a board being rebuilt say nothing about the core's health.
func TestBreakerIgnoresWhatIsNotSickness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		g := NewGuard(Config{Source: core})
		for range 100 {
			if _, err := g.Rank(t.Context(), rankQuery("nobody")); err == nil {
				t.Fatal("nobody is ranked")
			}
		}
		core.sicken(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		for range 100 {
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, leave)
			_, _ = g.Top(ctx, topQuery())
		}
		core.sicken(func(context.Context) error { return &rankcore.Unavailable{Reason: rankcore.ShardRebuilding} })
		for range 100 {
			wantTop(t, g, rankcore.Updating, rankcore.ShardRebuilding)
		}
		core.heal()
		wantTop(t, g, rankcore.Fresh, "")
	})
}

func TestOneBoardsBreakerLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		g := tripped(t, core, down)
		core.heal()
		other := &rankcore.Board{ID: "other", Shards: 1, Freshness: time.Second}
		page, err := g.Top(t.Context(), rankcore.TopQuery{Board: other, Season: "all", Limit: 10})
		if err != nil || page.Status != rankcore.Fresh {
			t.Fatalf("the other board: %+v, %v", page, err)
		}
		wantTop(t, g, rankcore.Stale, rankcore.CoreDown)
	})
}

// The callbacks run under gobreaker's lock; metrics are read from other goroutines all the while.
func TestStateChangesUnderScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		core := newSickable()
		g := NewGuard(Config{Source: core, Registerer: registry})
		scraped := make(chan struct{})
		scraping, stop := context.WithCancel(t.Context())
		go func() {
			defer close(scraped)
			for scraping.Err() == nil {
				_, _ = registry.Gather()
				time.Sleep(97 * time.Millisecond)
			}
		}()
		for range 50 {
			core.sicken(down)
			for range 2 * tripRequests {
				_, _ = g.Top(t.Context(), topQuery())
			}
			if state := counted(t, registry, "rankgate_degrade_breaker_state", "power"); state != 2 {
				t.Fatalf("breaker state %v after only failures, want 2 (open)", state)
			}
			core.heal()
			time.Sleep(openFor + time.Millisecond)
			for range halfOpenProbes {
				wantTop(t, g, rankcore.Fresh, "")
			}
			time.Sleep(2 * tripWindow)
		}
		stop()
		<-scraped
	})
}
