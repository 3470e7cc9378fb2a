package aggregate

import (
	"maps"
	"sync"
	"time"
)

const (
	askerKept = 10 * time.Second // since it asked last
	maxAskers = 1000             // more are not told apart
)

// askers are the gateways that ask for a board's rows. Safe for concurrent use.
type askers struct {
	mu     sync.Mutex // guards what follows
	asked  map[string]time.Time
	pruned time.Time
}

// count takes note of one and returns how many there are.
func (a *askers) count(id string, now time.Time) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.pruned) > time.Second {
		maps.DeleteFunc(a.asked, func(_ string, last time.Time) bool { return now.Sub(last) > askerKept })
		a.pruned = now
	}
	if _, known := a.asked[id]; !known && len(a.asked) >= maxAskers {
		return maxAskers
	}
	if a.asked == nil {
		a.asked = map[string]time.Time{}
	}
	a.asked[id] = now
	return len(a.asked)
}
