package invalidation

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A beacon says how far behind its applier was when it was sent, and not how long it has been on its way: the two clocks
// cannot tell, and a link that was quick a moment ago may have stalled since. So listeners call out, several times between
// two beacons, and a beacon names the newest call of each listener that its sender has heard. It was sent after that call;
// what it says is counted from there, by the listener's own clock, and can only be older than it truly is.

const (
	echoSubject = "rankgate.echo"

	echoEvery    = 50 * time.Millisecond // at most a twentieth of the smallest freshness bound
	echoKept     = 64                    // calls whose time is known: some seconds
	maxListeners = 1000                  // named in a beacon
	forgotten    = 2 * time.Second       // since a listener's last call
)

// newID names a process for as long as it runs.
func newID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}

// calls are a listener's. Only its Run touches them.
type calls struct {
	id   string
	n    uint64
	sent [echoKept]time.Time // by number
}

// next notes the time of a call that is about to be sent, and returns its payload.
func (c *calls) next(now time.Time) []byte {
	c.n++
	c.sent[c.n%echoKept] = now
	payload, _ := json.Marshal(number{V: version, Source: c.id, N: c.n}) // it cannot fail
	return payload
}

// after is a time after which a beacon with these echoes was sent; false when that is not known, or long ago.
func (c *calls) after(echoes map[string]uint64) (time.Time, bool) {
	n := echoes[c.id]
	if n == 0 || n > c.n || c.n-n >= echoKept {
		return time.Time{}, false
	}
	return c.sent[n%echoKept], true
}

// echoes are the newest calls that an announcer has heard. Safe for concurrent use.
type echoes struct {
	mu    sync.Mutex // guards calls
	calls map[string]echo
}

type echo struct {
	n     uint64
	heard time.Time
}

// listen takes note of calls until the subscription ends.
func (e *echoes) listen(conn *nats.Conn) (*nats.Subscription, error) {
	sub, err := conn.Subscribe(echoSubject, func(m *nats.Msg) { e.hear(m.Data, time.Now()) })
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", echoSubject, err)
	}
	return sub, nil
}

// hear takes note of a call; what is none is ignored.
func (e *echoes) hear(payload []byte, now time.Time) {
	var call number
	if json.Unmarshal(payload, &call) != nil || call.check() != nil || call.Source == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.calls[call.Source]; !known && len(e.calls) >= maxListeners {
		return
	}
	if e.calls == nil {
		e.calls = make(map[string]echo)
	}
	e.calls[call.Source] = echo{call.N, now}
}

// newest is the last call of each listener that has called lately.
func (e *echoes) newest(now time.Time) map[string]uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.calls, func(_ string, call echo) bool { return now.Sub(call.heard) > forgotten })
	list := make(map[string]uint64, len(e.calls))
	for id, call := range e.calls {
		list[id] = call.n
	}
	return list
}
