package degrade

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"

	"rankgate/rankcore"
)

// A breaker opens when half of at least tripRequests questions of the last tripWindow failed, lets nothing
// through for openFor at most, and closes after halfOpenProbes answers in a row. A core that is just back, with all that it
// missed to catch up with, fails some of them: so it is tried again soon, and not by all breakers at the same moment.
const (
	tripWindow     = 4 * time.Second
	tripBucket     = 500 * time.Millisecond
	tripRequests   = 20
	openFor        = 500 * time.Millisecond
	halfOpenProbes = 3
)

// breaker stops questions to a board's core, or to a part of it, while it fails them.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[struct{}]
	name    slog.Attr // whose it is
	log     *slog.Logger
	why     atomic.Pointer[rankcore.Unavailable] // the newest failure
	moved   atomic.Pointer[move]                 // a change of state nobody has logged yet
}

type move struct{ from, to gobreaker.State }

// breaker is the board's, made when it is first asked about.
func (g *Guard) breaker(board rankcore.BoardID) *breaker {
	g.mu.RLock()
	b := g.breakers[board]
	g.mu.RUnlock()
	if b != nil {
		return b
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if b = g.breakers[board]; b == nil {
		b = newBreaker(slog.String("board", string(board)), g.log, g.metrics.breaker.WithLabelValues(string(board)))
		g.breakers[board] = b
	}
	return b
}

func newBreaker(name slog.Attr, log *slog.Logger, state prometheus.Gauge) *breaker {
	b := &breaker{name: name, log: log}
	b.circuit = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  halfOpenProbes,
		Interval:     tripWindow,
		BucketPeriod: tripBucket,
		Timeout:      openFor/2 + rand.N(openFor/2),
		ReadyToTrip: func(c gobreaker.Counts) bool {
			counted := c.TotalSuccesses + c.TotalFailures
			return counted >= tripRequests && 2*c.TotalFailures >= counted
		},
		IsSuccessful: healthy,
		IsExcluded:   excluded,
		OnStateChange: func(_ string, from, to gobreaker.State) {
			// This runs under the breaker's lock: it only leaves a note.
			state.Set(float64(to))
			b.moved.Store(&move{from, to})
		},
	})
	return b
}

// healthy reports whether err shows a core that works. That a user is not ranked, or that a board is being
// rebuilt, is a quick answer of a healthy core; opening on it would only delay the recovery.
func healthy(err error) bool {
	return err == nil || errors.Is(err, rankcore.ErrNotRanked) ||
		errors.Is(err, rankcore.ErrUnavailable) && reasonOf(err) == rankcore.ShardRebuilding
}

// excluded reports whether err says nothing at all: the caller left, we were too busy to ask, or it was a part that
// failed, which has a breaker of its own and must not close the others off.
func excluded(err error) bool {
	return errors.Is(err, errAbandoned) || errors.Is(err, errShed) || errors.Is(err, rankcore.ErrBusy) ||
		errors.As(err, new(*partError))
}

// run asks through the breaker. While it lets nothing through, the error carries the reason it opened for.
func (b *breaker) run(question func() error) error {
	_, err := b.circuit.Execute(func() (struct{}, error) {
		err := question()
		if !healthy(err) && !excluded(err) {
			b.why.Store(&rankcore.Unavailable{Reason: reasonOf(err), Cause: err})
		}
		return struct{}{}, err
	})
	if m := b.moved.Swap(nil); m != nil {
		b.logMove(m)
	}
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		refused := &rankcore.Unavailable{Reason: rankcore.CoreDown, Cause: err}
		if why := b.why.Load(); why != nil {
			refused.Reason = why.Reason
		}
		return refused
	}
	return err
}

func (b *breaker) logMove(m *move) {
	level, attrs := slog.LevelInfo, []slog.Attr{b.name, slog.String("from", m.from.String()), slog.String("to", m.to.String())}
	if why := b.why.Load(); why != nil && m.to == gobreaker.StateOpen {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("reason", string(why.Reason)), slog.Any("cause", why.Cause))
	}
	b.log.LogAttrs(context.Background(), level, "breaker changed", attrs...)
}
