package gateway

import (
	"context"
	"sync/atomic"
	"time"
)

// readWithin is the longest that a question waits. The layers behind have tighter deadlines of their own.
const readWithin = 2 * time.Second

// deadlines hands out one context to all questions of a moment: one for each would cost more than it does to find an
// answer in memory. Safe for concurrent use.
type deadlines struct{ newest atomic.Pointer[deadline] }

type deadline struct {
	context.Context
	cancel context.CancelFunc // not called: the context ends by itself
	until  time.Time          // it is handed out
}

// at is a context that ends readWithin after now, or up to a twentieth of that sooner.
func (d *deadlines) at(now time.Time) context.Context {
	newest := d.newest.Load()
	if newest == nil || !now.Before(newest.until) {
		newest = &deadline{until: now.Add(readWithin / 20)}
		newest.Context, newest.cancel = context.WithDeadline(context.Background(), now.Add(readWithin))
		d.newest.Store(newest)
	}
	return newest.Context
}
