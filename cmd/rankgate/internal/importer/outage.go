package importer

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// tellAfter is the wait from which on somebody is told what is waited for: a server that restarts is back sooner.
const tellAfter = 8 * firstWait

// outage tells once that the server is away, and once that it is back, whichever connections notice. Safe for
// concurrent use.
type outage struct {
	patience time.Duration
	say      func(string) // nil: nothing is told

	mu   sync.Mutex
	told bool
}

// lasts takes in that a batch still waits, because of err.
func (o *outage) lasts(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.say != nil && !o.told {
		why := strings.TrimPrefix(err.Error(), errRetry.Error()+": ")
		o.say(fmt.Sprintf("the server takes nothing now and is tried again, each batch up to %v: %s", o.patience, why))
	}
	o.told = true
}

// over takes in that the server decided about a batch.
func (o *outage) over(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told && err == nil {
		o.told = false
		if o.say != nil {
			o.say("the server goes on")
		}
	}
}
