package invalidation

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// link measures how long a message may be on its way between this process and its NATS server. A beacon says how
// far behind its applier was when it was sent; on a slow link it arrives with that much to add, which the two
// clocks cannot tell. Both ends add their own link's delay, so what a beacon says is never too good.
type link struct {
	conn  *nats.Conn
	round atomic.Int64 // the last round trip, nanoseconds
	asked atomic.Int64 // when the one under way began, Unix nanoseconds; 0: none is
}

const (
	linkEvery    = 100 * time.Millisecond
	linkPatience = 2 * time.Second
)

// start measures until ctx ends or the function it returns is called, which waits for the end.
func (l *link) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (l *link) run(ctx context.Context) {
	pause := time.NewTicker(linkEvery)
	defer pause.Stop()
	for {
		l.measure(ctx)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// measure takes one round trip: a ping behind what was sent, and its answer behind what is to be received. One
// without an answer counts for as long as it has lasted.
func (l *link) measure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, linkPatience)
	defer cancel()
	begun := time.Now()
	l.asked.CompareAndSwap(0, begun.UnixNano())
	if l.conn.FlushWithContext(ctx) == nil {
		l.round.Store(int64(time.Since(begun)))
		l.asked.Store(0)
	}
}

// delay is the longest that a message received or sent now may take on the link.
func (l *link) delay(now time.Time) time.Duration {
	waited := time.Duration(0)
	if asked := l.asked.Load(); asked != 0 {
		waited = now.Sub(time.Unix(0, asked))
	}
	return max(waited, time.Duration(l.round.Load()), 0)
}
