package gateway

import (
	"bufio"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/gateway/address"
	"rankgate/rankcore"
)

const (
	defaultStreamed = 10 // rows

	// heartbeat is how often a listener hears something. One that is gone is noticed at the second, if not before:
	// the first makes its machine say so.
	heartbeat = 2500 * time.Millisecond

	maxStreams      = 4096
	maxStreamsOfOne = 64 // by address, see Limits
)

// streamTop answers GET /v1/boards/{board}/stream: the top rows now, and again whenever they change. Every event is
// whole, so a listener that comes back with Last-Event-ID has missed nothing that the first event does not tell.
func (g *Gateway) streamTop(c *fiber.Ctx) error {
	var r read
	if err := r.begin(g, c, "limit", "season"); err != nil {
		return err
	}
	t := topic{board: r.board, season: strings.Clone(r.params.get("season")), limit: r.limit(min(defaultStreamed, r.board.Head), r.board.Head)}
	if r.err != nil {
		return r.err
	}
	if c.Method() == fiber.MethodHead {
		streamHeaders(c)
		return nil
	}
	if !c.Request().Header.IsHTTP11() {
		return badRequest.because("a stream has no length, which only HTTP/1.1 can say")
	}
	caller := g.limits.streamer(c.Context())
	if err := g.streams.enter(caller); err != nil {
		c.Set(fiber.HeaderRetryAfter, retryAfter)
		return err
	}
	f, ok := g.hub.listen(t)
	if !ok {
		g.streams.leave(caller)
		return tooManyStreams.because("The server is about to stop.")
	}
	streamHeaders(c)
	c.Context().SetConnectionClose()
	conn := c.Context().Conn()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) { // on a goroutine that fasthttp starts now, whatever becomes of the caller
		defer g.streams.leave(caller)
		defer g.hub.leave(f)
		f.tell(conn, w, g.hub.beat)
	})
	return nil
}

func streamHeaders(c *fiber.Ctx) {
	c.Context().SetContentType("text/event-stream")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no") // nginx would hold events back
}

// tell writes events and heartbeats until the feed is over or the listener gone. A slow listener misses events
// and gets the newest.
func (f *feed) tell(conn net.Conn, w *bufio.Writer, every time.Duration) {
	beat := time.NewTicker(every)
	defer beat.Stop()
	news, changed, over := f.next()
	for !over {
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // each event has it anew; a dead connection fails below
		_, _ = w.Write(news)
		if w.Flush() != nil {
			return
		}
		select {
		case <-changed:
			news, changed, over = f.next()
		case <-beat.C:
			news = []byte(": \n\n")
		}
	}
}

// topOf are the topic's rows now. It fails when the season is no longer kept.
func (g *Gateway) topOf(t topic, now time.Time) (*rankcore.Page, error) {
	season, err := t.board.ParseSeason(t.season, now)
	if err != nil {
		return nil, err
	}
	return g.readTop(rankcore.TopQuery{Board: t.board, Season: season.ID, Limit: t.limit}, now), nil
}

// topEvent is a page as an event. Its data is the body that GET has, without the line's end.
func (g *Gateway) topEvent(b *rankcore.Board, page *rankcore.Page) []byte {
	body := g.topForm(b, page).body
	event := make([]byte, 0, len(body)+80)
	event = append(event, "event: top\nid: "...)
	event = page.Version.Append(event)
	event = append(event, "\ndata: "...)
	event = append(event, body...)
	return append(event, '\n')
}

// streamCount bounds the streams that are open. Safe for concurrent use.
type streamCount struct {
	metrics *metrics

	each *address.Counts

	mu  sync.Mutex
	all int
}

// enter counts one more, or fails with a refusal. Who enters has to leave.
func (s *streamCount) enter(caller netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.all >= maxStreams:
		return tooManyStreams.because("All " + strconv.Itoa(maxStreams) + " are in use.")
	case caller.IsValid() && !s.each.Enter(caller):
		return tooManyOfOne.because("One address may have " + strconv.Itoa(s.each.Most()) + " open.")
	}
	s.all++
	s.metrics.streams.Inc()
	return nil
}

func (s *streamCount) leave(caller netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if caller.IsValid() {
		s.each.Leave(caller)
	}
	s.metrics.streams.Dec()
}
