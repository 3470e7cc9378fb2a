package degrade

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

// single is a core that answers one question after another, each in the same time, also those that nobody waits for any
// more: what is too much makes every answer late.
type single struct {
	sickable
	each time.Duration

	mu   sync.Mutex
	free time.Time
}

func newSingle(each time.Duration) *single {
	s := &single{sickable: *newSickable(), each: each}
	answer := s.rank
	s.rank = func(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
		s.mu.Lock()
		if now := time.Now(); s.free.Before(now) {
			s.free = now
		}
		s.free = s.free.Add(s.each)
		done := time.NewTimer(time.Until(s.free))
		s.mu.Unlock()
		defer done.Stop()
		select {
		case <-done.C:
			return answer(ctx, q)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s
}

// Twice what the core can answer is asked for, before an outage of 20 s and all through it: as much is answered as the core
// can, and soon after the outage again.
func TestTwiceTheLoadThroughAnOutage(t *testing.T) {
	const each = 5 * time.Millisecond
	const most = float64(time.Second / each)
	for how, fault := range map[string]func(context.Context) error{
		"silent": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"dead":   down,
	} {
		synctest.Test(t, func(t *testing.T) {
			core := newSingle(each)
			g := NewGuard(Config{Source: core})
			var fresh [40]atomic.Int64
			var asking sync.WaitGroup
			begun := time.Now()
			for i := 0; time.Since(begun) < 40*time.Second; i++ {
				asking.Go(func() {
					second := time.Since(begun) / time.Second
					if s, err := g.Rank(t.Context(), rankQuery(rankcore.UserID(fmt.Sprint(i)))); err == nil && s.Status == rankcore.Fresh {
						fresh[second].Add(1)
					}
				})
				if i == 10*2*int(most) {
					core.sicken(fault)
				}
				if i == 30*2*int(most) {
					core.heal()
				}
				time.Sleep(each / 2)
			}
			asking.Wait()
			rate := func(from, to int) (r float64) {
				for i := range fresh[from:to] {
					r += float64(fresh[from+i].Load()) / float64(to-from)
				}
				return r
			}
			if before := rate(2, 10); before < 0.95*most {
				t.Errorf("%s: %.0f fresh answers a second before, the core can give %.0f", how, before, most)
			}
			if after := rate(33, 40); after < 0.95*rate(2, 10) {
				t.Errorf("%s: %.0f fresh answers a second from 3 s after the outage on, %.0f before", how, after, rate(2, 10))
			}
		})
	}
}

// A place goes to whoever has waited least; who has waited longest is sent away when too many wait.
func TestTheLastAtTheGateIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, time.Second, time.Second)
		for range 2 {
			if !g.enter(t.Context()) {
				t.Fatal("a place is not given")
			}
		}
		var mu sync.Mutex
		var seen []string
		for _, name := range []string{"a", "b", "c"} {
			go func() {
				got := g.enter(t.Context())
				mu.Lock()
				seen = append(seen, fmt.Sprint(name, got))
				mu.Unlock()
			}()
			synctest.Wait()
		}
		g.leave(0, true)
		synctest.Wait()
		g.leave(0, true)
		synctest.Wait()
		if want := "[afalse ctrue btrue]"; fmt.Sprint(seen) != want {
			t.Errorf("%v, want %s", seen, want)
		}
	})
}

// Places get fewer while answers are slow, once for all that were slow together, and more while they are quick and all
// places are taken.
func TestPlacesFollowTheCore(t *testing.T) {
	g := newGate(100, time.Second, time.Second)
	now := time.Now()
	adapt := func(inside int, took time.Duration, well bool, at int, want float64) {
		t.Helper()
		g.inside = inside
		for range 64 {
			g.adapt(took, well, now.Add(time.Duration(at)*time.Second))
		}
		if g.places < want-1 || g.places > want+1 {
			t.Errorf("%.1f places, want about %.0f", g.places, want)
		}
	}
	adapt(10, time.Millisecond, true, 0, 64) // not all are taken
	adapt(60, time.Millisecond, true, 0, 65)
	adapt(60, time.Millisecond, false, 0, 65)
	adapt(60, 2*time.Second, true, 1, 52)
	for i := range 20 {
		g.adapt(2*time.Second, false, now.Add(time.Duration(2+i)*time.Second))
	}
	adapt(16, time.Millisecond, false, 30, fewPlaces)
}
