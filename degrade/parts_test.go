package degrade

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// node is a part that a test makes sick and well.
type node struct {
	asked atomic.Int64
	fault atomic.Pointer[func(context.Context) error]
}

func (n *node) question(ctx context.Context) error {
	n.asked.Add(1)
	if fault := n.fault.Load(); fault != nil {
		return (*fault)(ctx)
	}
	return nil
}

func (n *node) sicken(fault func(context.Context) error) { n.fault.Store(&fault) }
func (n *node) heal()                                    { n.fault.Store(nil) }

// ask gives the part 100 ms.
func (n *node) ask(t *testing.T, p *Parts, part string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	return p.Ask(ctx, part, n.question)
}

// A node that does not answer costs the first questions their deadline and the next ones nothing, its neighbour loses
// nothing by it, and it is asked again soon after it is well, although probes hang too.
func TestSilentNodeIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, sick, well := NewParts(nil, nil), &node{}, &node{}
		sick.sicken(hangs(t))
		for range tripRequests {
			began := time.Now()
			if err := sick.ask(t, p, "a"); reasonOf(err) != rankcore.CoreSlow || time.Since(began) != 100*time.Millisecond {
				t.Fatalf("%v after %v", err, time.Since(began))
			}
		}
		began, asked := time.Now(), sick.asked.Load()
		for range 100 {
			if err := sick.ask(t, p, "a"); !errors.Is(err, rankcore.ErrUnavailable) || reasonOf(err) != rankcore.CoreSlow {
				t.Fatalf("refused with %v, want unavailable and why", err)
			}
			if err := well.ask(t, p, "b"); err != nil {
				t.Fatal(err)
			}
		}
		if time.Since(began) != 0 || sick.asked.Load() != asked {
			t.Fatalf("waited %v and asked %d times", time.Since(began), sick.asked.Load()-asked)
		}
		for range 5 { // rounds of probes that hang
			time.Sleep(openFor + time.Millisecond)
			_ = sick.ask(t, p, "a")
		}
		sick.heal()
		healed := time.Now()
		for sick.ask(t, p, "a") != nil {
			if time.Since(healed) > openFor+time.Second {
				t.Fatal("still not asked")
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// Callers that leave say nothing about a part, however many.
func TestPartIsNotBlamedForCallersWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, n := NewParts(nil, nil), &node{}
		n.sicken(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		for range 5 * tripRequests {
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, leave)
			if err := p.Ask(ctx, "a", n.question); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		n.heal()
		if err := n.ask(t, p, "a"); err != nil {
			t.Fatal(err)
		}
	})
}

// What is wrong with a part is told once, with why, and shown as long as it is asked.
func TestPartsTellHowTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged strings.Builder
		registry := prometheus.NewRegistry()
		p, n := NewParts(slog.New(slog.NewTextHandler(&logged, nil)), registry), &node{}
		_ = n.ask(t, p, "b")
		n.sicken(down)
		for range 2 * tripRequests {
			_ = n.ask(t, p, "a")
		}
		if got := strings.Count(logged.String(), "to=open"); got != 1 || !strings.Contains(logged.String(), "part=a") || !strings.Contains(logged.String(), "reason=core_down") {
			t.Errorf("logged %s", logged.String())
		}
		if n := counted(t, registry, "rankgate_degrade_part_breaker_state", "a"); n != 2 {
			t.Errorf("state %v", n)
		}
		if s := p.States(); len(s) != 2 || s[0] != (PartState{Name: "a", Reason: rankcore.CoreDown}) || s[1] != (PartState{Name: "b"}) {
			t.Errorf("states %+v", s)
		}
		time.Sleep(forgetParts + time.Second)
		if s := p.States(); len(s) != 0 {
			t.Errorf("nobody asks them any more: %+v", s)
		}
	})
}

// A panic of a question is a failure of its part and of nothing else.
func TestPartPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, n := NewParts(nil, nil), &node{}
		n.sicken(func(context.Context) error { panic("broken") })
		if err := n.ask(t, p, "a"); reasonOf(err) != rankcore.CoreDown {
			t.Error(err)
		}
	})
}

// One node that is away must not close a board off, however many ask for those who live there.
func TestSickPartLeavesTheBoardOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		g := NewGuard(Config{Source: core})
		core.sicken(func(context.Context) error {
			return &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: &partError{"a", errors.New("silent")}}
		})
		for range 5 * tripRequests {
			wantTop(t, g, rankcore.Updating, rankcore.CoreSlow)
		}
		core.heal()
		wantTop(t, g, rankcore.Fresh, "")
	})
}

// A partial answer is shown, and remembered, where it is as new as what was shown before: as_of never goes back.
func TestPartialAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newSickable()
		g := NewGuard(Config{Source: core})
		shown := wantTop(t, g, rankcore.Fresh, "").AsOf
		top := core.top
		from := func(asOf time.Time) {
			core.top = func(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
				page, err := top(ctx, q)
				if err == nil {
					page.Status, page.Reason, page.AsOf = rankcore.Partial, rankcore.CoreDown, asOf
				}
				return page, err
			}
		}
		time.Sleep(time.Second)
		from(shown)
		if page := wantTop(t, g, rankcore.Partial, rankcore.CoreDown); !page.AsOf.Equal(shown) {
			t.Errorf("as of %v", page.AsOf)
		}
		from(shown.Add(-time.Millisecond))
		if page := wantTop(t, g, rankcore.Stale, rankcore.CoreDown); !page.AsOf.Equal(shown) {
			t.Errorf("as of %v, after %v was shown", page.AsOf, shown)
		}
		from(shown.Add(time.Millisecond))
		wantTop(t, g, rankcore.Partial, rankcore.CoreDown)
		core.sicken(down)
		if page := wantTop(t, g, rankcore.Stale, rankcore.CoreDown); !page.AsOf.Equal(shown.Add(time.Millisecond)) {
			t.Errorf("as of %v, after a later one was shown", page.AsOf)
		}
	})
}
