package gateway

import (
	"errors"
	"sync/atomic"
	"time"
)

// How a quota store is spared that does not answer: each question to it costs a caller the whole wait.
const (
	restAfter = 3               // failures without a success between them
	restFor   = 3 * time.Second // then one question is let through, to see
)

// rest knows whether the quota store answers. Safe for concurrent use; the zero value asks.
type rest struct {
	failures atomic.Int32
	until    atomic.Int64 // Unix nanoseconds
}

var errResting = errors.New("the quota store did not answer, and is not asked for a while")

// asks reports whether the store is to be asked.
func (r *rest) asks(now time.Time) bool {
	if r.failures.Load() < restAfter {
		return true
	}
	until := r.until.Load()
	return now.UnixNano() >= until && r.until.CompareAndSwap(until, now.Add(restFor).UnixNano())
}

// answered takes in how a question ended.
func (r *rest) answered(err error, now time.Time) {
	if err == nil {
		r.failures.Store(0)
		return
	}
	if r.failures.Add(1) >= restAfter {
		r.until.Store(now.Add(restFor).UnixNano())
	}
}
