package degrade

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"

	"rankgate/rankcore"
)

// forgetParts is how long a part that nobody asks is remembered: a node that was replaced, or a shard that got well.
const forgetParts = 15 * time.Second

// Parts keeps a breaker for each part of a core that can be sick alone: a store's nodes, and shards that have been
// sick where their node was not. Safe for concurrent use.
type Parts struct {
	log   *slog.Logger
	state *prometheus.GaugeVec

	// mu guards byName. Never held while asking.
	mu     sync.RWMutex
	byName map[string]*guarded
}

type guarded struct {
	*breaker
	asked atomic.Int64 // when last, in Unix nanoseconds
}

// NewParts returns Parts that know of none yet. A nil logger logs nothing.
func NewParts(log *slog.Logger, r prometheus.Registerer) *Parts {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Parts{log: log, byName: map[string]*guarded{}, state: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "rankgate_degrade_part_breaker_state",
		Help: "The breaker of a store's node, or of a shard that was sick alone: 0 closed, 1 half-open, 2 open.",
	}, []string{"part"})}
	if r != nil {
		r.MustRegister(p.state)
	}
	return p
}

// partError is what went wrong with one part, which has been counted against that part.
type partError struct {
	part string
	err  error
}

func (e *partError) Error() string { return e.part + ": " + e.err.Error() }
func (e *partError) Unwrap() error { return e.err }

// Ask puts the question to the part, unless its breaker is open, and waits for it no longer than ctx: slow is a failure,
// and a breaker whose probe hangs is told so. A question that is not waited for may go on; what it brings must not be
// looked at. That the caller left says nothing about the part.
func (p *Parts) Ask(ctx context.Context, part string, question func(context.Context) error) error {
	g := p.of(part, time.Now())
	err := g.run(func() error {
		answered := make(chan error, 1)
		go func() { answered <- p.safely(ctx, question) }()
		select {
		case err := <-answered:
			if err != nil && errors.Is(ctx.Err(), context.Canceled) {
				return errAbandoned
			}
			return err
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return errAbandoned
			}
			return &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: ctx.Err()}
		}
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errAbandoned):
		return ctx.Err()
	}
	return &partError{part, err}
}

func (p *Parts) safely(ctx context.Context, question func(context.Context) error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			p.log.Error("the core panicked", "panic", thrown)
			err = &rankcore.Unavailable{Reason: rankcore.CoreDown, Cause: fmt.Errorf("panic: %v", thrown)}
		}
	}()
	return question(ctx)
}

// of is the part's breaker, made when it is first asked.
func (p *Parts) of(part string, now time.Time) *guarded {
	p.mu.RLock()
	g := p.byName[part]
	p.mu.RUnlock()
	if g == nil {
		g = p.meet(part, now)
	}
	g.asked.Store(now.UnixNano())
	return g
}

// meet makes the part's breaker, and forgets parts that nobody has asked for long.
func (p *Parts) meet(part string, now time.Time) *guarded {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep(now)
	g := p.byName[part]
	if g == nil {
		g = &guarded{breaker: newBreaker(slog.String("part", part), p.log, p.state.WithLabelValues(part))}
		g.asked.Store(now.UnixNano())
		p.byName[part] = g
	}
	return g
}

// sweep needs mu.
func (p *Parts) sweep(now time.Time) {
	for name, g := range p.byName {
		if now.UnixNano()-g.asked.Load() > int64(forgetParts) {
			delete(p.byName, name)
			p.state.DeleteLabelValues(name)
		}
	}
}

// PartState is how a part was when it was last asked.
type PartState struct {
	Name   string
	Reason rankcore.Reason // why it is not asked now; empty when it is
	Trying bool            // it is asked now and then, to see whether it is well
}

// States are the parts that were asked lately, by name.
func (p *Parts) States() []PartState {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep(time.Now())
	list := make([]PartState, 0, len(p.byName))
	for name, g := range p.byName {
		s := PartState{Name: name}
		if state := g.circuit.State(); state != gobreaker.StateClosed {
			s.Reason, s.Trying = rankcore.CoreDown, state == gobreaker.StateHalfOpen
			if why := g.why.Load(); why != nil {
				s.Reason = why.Reason
			}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b PartState) int { return strings.Compare(a.Name, b.Name) })
	return list
}
