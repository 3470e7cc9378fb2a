package loadtest

import (
	"errors"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"
)

// Latencies are counted from 1 us to longest, three digits exact.
const longest = 2 * time.Minute

// tally counts what became of the requests of one kind. Safe for concurrent use.
type tally struct {
	mu       sync.Mutex // guards all below; held for counting only
	latency  *hdrhistogram.Histogram
	sent     int64
	http     map[string]int64
	statuses map[string]int64
	cache    map[string]int64
	failures map[string]int64
	last     time.Time // the newest answer
}

func newTally() *tally {
	return &tally{
		latency: hdrhistogram.New(1, longest.Microseconds(), 3),
		http:    map[string]int64{}, statuses: map[string]int64{}, cache: map[string]int64{}, failures: map[string]int64{},
	}
}

// answered counts one request that was meant to start at intended and has ended at now. Failed ones are in
// the latencies too: a timeout was a wait for somebody.
func (t *tally) answered(intended, now time.Time, a answer, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	t.last = later(t.last, now)
	took := min(max(now.Sub(intended), time.Microsecond), longest)
	_ = t.latency.RecordValue(took.Microseconds()) // within its bounds by the line above
	if err != nil {
		t.failures[failureName(err)]++
		return
	}
	t.http[strconv.Itoa(a.status)]++
	if s := textField(a.body, "status"); s != "" {
		t.statuses[s]++
	}
	if a.cache != "" {
		t.cache[a.cache]++
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// failureName sorts the errors of a request into a few kinds.
func failureName(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, fasthttp.ErrTimeout), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.Is(err, fasthttp.ErrNoFreeConns):
		return "no free connection"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, fasthttp.ErrConnectionClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection closed"
	default:
		return "other: " + err.Error()
	}
}
