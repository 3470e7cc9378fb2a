package ingest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"rankgate/rankcore"
)

const (
	// renewEvery is how often a holder renews its lease, and how often the others look at it.
	renewEvery = 500 * time.Millisecond
	// leaseLasts is how long a lease must be seen unchanged before it is taken from a holder that did not let it go.
	leaseLasts = 2 * time.Second
	// leasePatience bounds one question to the store of leases.
	leasePatience = time.Second
)

// lease is this core's part in who applies a board. A nil lease is held all the time.
type lease struct {
	all   *Leases
	board rankcore.BoardID
	key   string
	wake  chan struct{} // the lease was let go: look at once
	leave chan struct{} // a core that has less to do should have it
	since atomic.Int64  // when it was taken, Unix nanoseconds; 0: it is not held
}

// The ways a term ends, other than by a stop.
var (
	errLeaseTaken = errors.New("another core applies the board")
	errLeaseLeft  = errors.New("a core with less to do shall apply the board")
)

// term waits until this process is to apply the board. held ends when that is over; the caller then stops and calls
// end. It is false when ctx ended first.
func (l *lease) term(ctx context.Context) (held context.Context, end func(), ok bool) {
	if l == nil {
		return ctx, func() {}, ctx.Err() == nil
	}
	revision, ok := l.acquire(ctx)
	if !ok {
		return nil, nil, false
	}
	select {
	case <-l.leave: // it was for an earlier term
	default:
	}
	l.since.Store(time.Now().UnixNano())
	held, cancel := context.WithCancelCause(ctx)
	renewed := make(chan uint64, 1)
	go func() { renewed <- l.renew(held, cancel, revision) }()
	return held, func() {
		cancel(nil)
		revision := <-renewed
		l.since.Store(0)
		if !errors.Is(context.Cause(held), errLeaseTaken) {
			l.release(context.WithoutCancel(ctx), revision)
		}
	}, true
}

// acquire waits until the lease is free, or seems to be: its holder has not renewed it for leaseLasts by this
// process's own clock, or for half of it and is not there any more. At the first look it is enough that the holder is
// not there, so that a core that was killed and is alone goes on at once. Where leases cannot be kept nobody needs
// one: then it answers revision 0, which nobody has written.
func (l *lease) acquire(ctx context.Context) (revision uint64, ok bool) {
	select {
	case <-ctx.Done():
		return 0, false
	case <-l.all.listening:
	}
	var seen uint64
	var unchanged, failing time.Time // since when
	for first := true; ; first = false {
		e, err := l.get(ctx)
		now := time.Now()
		claim := false
		switch {
		case ctx.Err() != nil:
			return 0, false
		case err != nil:
			seen = 0 // only what was looked at counts as unchanged
			if failing.IsZero() || !l.all.conn.IsConnected() {
				failing = now
			}
			if now.Sub(failing) >= leaseLasts {
				l.all.log.Warn("leases cannot be kept; this core applies whatever others do", "board", l.board, "err", err)
				return 0, true
			}
		case e.holder == "":
			claim = l.yieldTo(ctx)
		case e.revision != seen:
			seen, unchanged = e.revision, now
			claim = first && l.all.gone(ctx, e.holder)
		default:
			idle := now.Sub(unchanged)
			claim = idle >= leaseLasts || idle >= leaseLasts/2 && l.all.gone(ctx, e.holder)
		}
		if err == nil {
			failing = time.Time{}
		}
		if claim {
			if revision, err = l.set(ctx, l.all.core, e.revision); err == nil {
				l.all.log.Info("this core applies the board", "board", l.board, "instead_of", e.holder)
				return revision, true
			}
		}
		select {
		case <-ctx.Done():
			return 0, false
		case <-l.wake:
		case <-time.After(renewEvery/2 + rand.N(renewEvery/2)):
		}
	}
}

// yieldTo lets cores that apply fewer boards be quicker. It reports whether a free lease may be claimed now.
func (l *lease) yieldTo(ctx context.Context) bool {
	const step = 20 * time.Millisecond
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(l.all.ahead()) * step):
		return true
	}
}

// renew keeps the lease until held ends, and ends it when another core has the lease or should have it. It returns
// the revision that is this core's. What cannot be reached is waited for: a lease only saves work.
func (l *lease) renew(held context.Context, cancel context.CancelCauseFunc, revision uint64) uint64 {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-held.Done():
			return revision
		case <-l.leave:
			cancel(errLeaseLeft)
			return revision
		case <-tick.C:
		}
		next, err := l.set(held, l.all.core, revision)
		if errors.Is(err, errTaken) {
			next, err = l.settle(held, revision)
		}
		switch {
		case err == nil:
			revision = next
		case errors.Is(err, errTaken):
			l.all.log.Info("another core applies the board", "board", l.board)
			cancel(errLeaseTaken)
			return revision
		}
	}
}

// settle is for a lease that is not where this core left it. Either an answer to this core was lost, or the store
// went back to where it was earlier; else somebody took the lease, which is errTaken.
func (l *lease) settle(ctx context.Context, revision uint64) (uint64, error) {
	e, err := l.get(ctx)
	if err != nil {
		return 0, err
	}
	if e.holder != "" && e.holder != l.all.core && e.revision > revision {
		return 0, errTaken
	}
	return l.set(ctx, l.all.core, e.revision)
}

// release lets the lease go, so that another core takes it at once.
func (l *lease) release(ctx context.Context, revision uint64) {
	if !l.all.conn.IsConnected() {
		return
	}
	if _, err := l.set(ctx, "", revision); err == nil {
		l.all.tell(l.board)
	}
}

func (l *lease) get(ctx context.Context) (leaseEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, leasePatience)
	defer cancel()
	return l.all.store.get(ctx, l.key)
}

func (l *lease) set(ctx context.Context, holder string, was uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, leasePatience)
	defer cancel()
	return l.all.store.set(ctx, l.key, holder, was)
}
