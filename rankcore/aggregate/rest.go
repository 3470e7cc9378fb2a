package aggregate

import (
	"sync"
	"sync/atomic"
	"time"
)

// The core is not asked for so long after nobody listened, or it did not answer in time: twice as long each time in
// a row that it did not.
const (
	firstRest = 100 * time.Millisecond
	maxRest   = time.Second
)

// rest is how long a core that gave no answer is left alone, so that it costs readers next to nothing. Safe for
// concurrent use.
type rest struct {
	until atomic.Int64 // the core is not asked before; Unix nanoseconds

	mu   sync.Mutex // guards late
	late int        // answers in a row
}

func (r *rest) resting(now time.Time) bool { return now.UnixNano() < r.until.Load() }

// unanswered puts the next question off: nobody answered, or nobody did in time. Those who asked at one time are late
// at one time, and that is once. From the second time on it is put off by least or longer.
func (r *rest) unanswered(late bool, least time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.resting(now) {
		return
	}
	pause := firstRest
	if late {
		pause = min(firstRest<<min(r.late, 8), maxRest)
		if r.late > 0 {
			pause = max(pause, least)
		}
		r.late++
	}
	r.until.Store(now.Add(pause).UnixNano())
}

func (r *rest) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = 0
}
