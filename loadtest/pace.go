package loadtest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// lateAfter is how much later than intended a request may start before it is counted as late. Timers
// themselves are some 0.1 ms late.
const lateAfter = time.Millisecond

// pace starts requests on a fixed timetable, whatever the answers do: an open loop. When all workers wait for
// answers the next requests start late, and because each is timed from its intended start, the wait is in
// its latency instead of missing from the figures.
type pace struct {
	start   time.Time
	rate    float64 // requests a second
	length  time.Duration
	workers int // at most this many requests under way

	next atomic.Int64 // the next request of the timetable
	late atomic.Int64 // requests that started late
}

// intended is when request i should start, and whether the timetable reaches that far.
func (p *pace) intended(i int64) (time.Time, bool) {
	after := time.Duration(float64(i) / p.rate * float64(time.Second))
	return p.start.Add(after), after < p.length
}

// run calls send for every entry of the timetable and returns when all have returned, or when ctx has
// ended and those under way have returned. Each worker has a number, from 0.
func (p *pace) run(ctx context.Context, send func(worker int, intended time.Time)) {
	var workers sync.WaitGroup
	for w := range p.workers {
		workers.Go(func() {
			timer := time.NewTimer(0)
			defer timer.Stop()
			for {
				at, more := p.intended(p.next.Add(1) - 1)
				if !more || !sleepUntil(ctx, timer, at) {
					return
				}
				if time.Since(at) > lateAfter {
					p.late.Add(1)
				}
				send(w, at)
			}
		})
	}
	workers.Wait()
}

// sleepUntil returns true at the given time, or false when ctx has ended.
func sleepUntil(ctx context.Context, timer *time.Timer, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer.Reset(wait)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
