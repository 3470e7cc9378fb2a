package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"rankgate/rankcore"
)

// Pace of a feed.
const (
	lookAgain  = 100 * time.Millisecond // between two looks at the top rows
	eventsRest = 200 * time.Millisecond // between two events, so at most five in a second
)

// hub has one feed for each question that somebody listens to, however many listen. Nothing runs while nobody
// does. Safe for concurrent use.
type hub struct {
	g    *Gateway
	beat time.Duration // between two heartbeats

	// mu guards feeds, each feed's listeners, and closed. Never held while asking or writing.
	mu     sync.Mutex
	feeds  map[topic]*feed
	closed bool

	running sync.WaitGroup
}

func newHub(g *Gateway) *hub { return &hub{g: g, beat: heartbeat, feeds: make(map[topic]*feed)} }

// topic is what a feed is about. The season is as it was asked for, so that "day" goes on with the new day.
type topic struct {
	board  *rankcore.Board
	season string
	limit  int
}

// feed looks at the top rows again and again while it has listeners, and renders each change once for all.
type feed struct {
	topic     topic
	listeners int
	stop      context.CancelFunc

	// mu guards what follows.
	mu      sync.Mutex
	event   []byte        // the newest, as it goes over the wire; not modified
	changed chan struct{} // closed and replaced with each event, and closed for good at the end
	over    bool
}

// listen joins the topic's feed, or starts it. False: the gateway stops. Who listens has to leave.
func (h *hub) listen(t topic) (*feed, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, false
	}
	f := h.feeds[t]
	if f == nil {
		var ctx context.Context
		f = &feed{topic: t, changed: make(chan struct{})}
		ctx, f.stop = context.WithCancel(h.g.waits)
		h.feeds[t] = f
		h.running.Go(func() { h.run(ctx, f) })
	}
	f.listeners++
	return f, true
}

func (h *hub) leave(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.listeners--; f.listeners > 0 {
		return
	}
	f.stop()
	if h.feeds[f.topic] == f { // else it ended by itself, and another one may have its place
		delete(h.feeds, f.topic)
	}
}

// close starts no feed any more and waits for those that run, whose context has ended.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
}

// run feeds until ctx ends, or until the season is no longer kept.
func (h *hub) run(ctx context.Context, f *feed) {
	defer h.end(f)
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	var shown *rankcore.Page
	var rest time.Time // before it no event
	for {
		if now := time.Now(); !now.Before(rest) {
			page, err := h.g.topOf(f.topic, now)
			if err != nil {
				return
			}
			if page != shown && (shown == nil || differ(page, shown)) {
				f.publish(h.g.topEvent(f.topic.board, page))
				h.g.metrics.streamEvents.Inc()
				rest = now.Add(eventsRest)
			}
			shown = page
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

func (h *hub) end(f *feed) {
	h.mu.Lock()
	if h.feeds[f.topic] == f {
		delete(h.feeds, f.topic)
	}
	h.mu.Unlock()
	f.mu.Lock()
	f.over = true
	close(f.changed)
	f.mu.Unlock()
}

// differ reports whether two pages show different rows, or the same rows with another standing of their own.
func differ(a, b *rankcore.Page) bool {
	return a.Season != b.Season || a.Status != b.Status || a.Reason != b.Reason || !slices.Equal(a.Entries, b.Entries)
}

func (f *feed) publish(event []byte) {
	f.mu.Lock()
	f.event = event
	close(f.changed)
	f.changed = make(chan struct{})
	f.mu.Unlock()
}

// next is the newest event, nil before the first one; changed is closed when it is not the newest any more.
func (f *feed) next() (event []byte, changed <-chan struct{}, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.event, f.changed, f.over
}
