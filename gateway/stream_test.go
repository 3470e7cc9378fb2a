package gateway

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rankgate/gateway/address"
	"rankgate/rankcore"
)

// listening is somebody who listens to a stream.
type listening struct {
	t    *testing.T
	body *bufio.Reader
	res  *http.Response
	stop context.CancelFunc
}

func listenTo(t *testing.T, address, path string, headers ...string) *listening {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(stop)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return &listening{t, bufio.NewReader(res.Body), res, stop}
}

// event is the next one: its id, and its data as the body of an answer. Heartbeats are passed over.
func (l *listening) event() (id string, data reply) {
	l.t.Helper()
	fields := map[string]string{}
	for {
		line, err := l.body.ReadString('\n')
		if err != nil {
			l.t.Fatal(err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case name != "":
			fields[name] = value
		case fields["event"] == "top":
			return fields["id"], reply{l.t, 200, nil, fields["data"]}
		case len(fields) > 0:
			l.t.Fatalf("an event %v", fields)
		}
	}
}

// ends checks that the server ends the stream.
func (l *listening) ends() {
	l.t.Helper()
	for {
		if _, err := l.body.ReadString('\n'); err != nil {
			if err.Error() != "EOF" {
				l.t.Error(err)
			}
			return
		}
	}
}

// counting counts questions for the top rows.
type counting struct {
	rankcore.Reader
	tops atomic.Int64
}

func (c *counting) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	c.tops.Add(1)
	return c.Reader.Top(ctx, q)
}

// open is how many streams and feeds there are.
func (e *edge) open() (streams, feeds int) {
	e.streams.mu.Lock()
	defer e.streams.mu.Unlock()
	e.hub.mu.Lock()
	defer e.hub.mu.Unlock()
	return e.streams.all, len(e.hub.feeds)
}

func (e *edge) closed() bool {
	streams, feeds := e.open()
	return streams == 0 && feeds == 0
}

const powerStream = "/v1/boards/power/stream"

func TestStream(t *testing.T) {
	e := newEdge(t, nil)
	e.hub.beat = 20 * time.Millisecond
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7}`).want(202)
	address := e.serve()
	l := listenTo(t, address, powerStream+"?limit=2", "Last-Event-ID", "whatever")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "Etag": ""} {
		if got := l.res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	id, first := l.event()
	first.field("board", "power").field("status", "fresh").field("version", id)
	if id != "1-1000000000" || first.rows() != "1 a 9, 2 b 7" {
		t.Errorf("first %s %s", id, first.rows())
	}
	e.post("power", `{"user":"c","add":1}`).want(202) // not among the rows
	e.post("power", `{"user":"b","add":3}`).want(202)
	id, second := l.event()
	if id != "3-3000000000" || second.rows() != "1 b 10, 2 a 9" {
		t.Errorf("second %s %s", id, second.rows())
	}
	e.mu.Lock()
	e.down = unavailable(rankcore.CoreDown)
	e.mu.Unlock()
	_, third := l.event()
	third.field("status", "updating").field("reason", "core_down")
	l.stop()
	eventually(t, "the stream and its feed are gone", e.closed)
}

// However many listen, each change is asked for and rendered once; and nothing is asked when nobody listens.
func TestStreamsShareAFeed(t *testing.T) {
	asked := &counting{}
	e := newEdge(t, func(c *Config) { asked.Reader = c.Reader; c.Reader = asked })
	e.hub.beat = 20 * time.Millisecond
	address := e.serve()
	var all []*listening
	for range 50 {
		l := listenTo(t, address, powerStream)
		l.event()
		all = append(all, l)
	}
	other := listenTo(t, address, powerStream+"?limit=3")
	other.event()
	if streams, feeds := e.open(); streams != 51 || feeds != 2 {
		t.Errorf("%d streams of %d feeds", streams, feeds)
	}
	e.post("power", `{"user":"a","add":9}`).want(202)
	for _, l := range append(all, other) {
		if _, event := l.event(); event.rows() != "1 a 9" {
			t.Errorf("a listener got %s", event.rows())
		}
		l.stop()
	}
	eventually(t, "nobody listens", e.closed)
	e.hub.running.Wait()
	before := asked.tops.Load()
	e.post("power", `{"user":"a","add":9}`).want(202)
	<-time.After(3 * lookAgain)
	if n := asked.tops.Load() - before; n > 0 {
		t.Errorf("asked %d times with nobody listening", n)
	}
}

// Listeners that are killed, or stop reading and go, hold nothing for longer than two heartbeats.
func TestKilledListeners(t *testing.T) {
	const listeners = 1000
	e := newEdge(t, nil)
	e.hub.beat = 500 * time.Millisecond
	address := e.serve()
	before := runtime.NumGoroutine()
	var all []*raw
	for range listeners {
		c := dial(t, address)
		c.send("GET " + powerStream + " HTTP/1.1\r\nHost: x\r\n\r\n")
		all = append(all, c)
	}
	eventually(t, "all listen", func() bool { streams, _ := e.open(); return streams == listeners })
	for _, c := range all {
		if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	eventually(t, "nobody listens", e.closed)
	eventually(t, "nothing of them is left", func() bool { return runtime.NumGoroutine() <= before+10 })
}

func TestStreamRefusals(t *testing.T) {
	e := newEdge(t, nil)
	for path, want := range map[string]*kind{
		"/v1/boards/nothing/stream":       unknownBoard,
		powerStream + "?limit=1001":       badRequest,
		powerStream + "?limit=0":          badRequest,
		powerStream + "?offset=1":         badRequest,
		powerStream + "?season=day":       unknownSeason,
		powerStream + "?season=fortnight": badRequest,
	} {
		e.get(path).problem(want)
	}
	head := e.call("HEAD", powerStream, "").want(200)
	if head.header.Get("Content-Type") != "text/event-stream" || !e.closed() {
		t.Errorf("HEAD: %v", head.header)
	}
	address := e.serve()
	old := dial(t, address)
	old.send("GET " + powerStream + " HTTP/1.0\r\nHost: x\r\n\r\n")
	old.reply().problem(badRequest)
	e.streams.mu.Lock()
	e.streams.all += maxStreams
	e.streams.mu.Unlock()
	e.get(powerStream).problem(tooManyStreams)
}

func TestStreamsOfOneAddress(t *testing.T) {
	counted := streamCount{metrics: newMetrics(nil), each: address.NewCounts(maxStreamsOfOne)}
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	for range maxStreamsOfOne {
		if err := counted.enter(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := counted.enter(one); err == nil {
		t.Error("one address may have any number")
	}
	if err := counted.enter(other); err != nil {
		t.Error(err)
	}
	counted.leave(one)
	if err := counted.enter(one); err != nil {
		t.Error(err)
	}
	for range maxStreamsOfOne {
		counted.leave(one)
	}
	counted.leave(other)
	if counted.all != 0 {
		t.Errorf("left over: %d", counted.all)
	}
}

// A stream outlives the time for writing an answer, since each of its writes has that time anew.
func TestStreamOutlivesWriteTimeout(t *testing.T) {
	e := newEdge(t, nil)
	e.App().Server().WriteTimeout = 300 * time.Millisecond
	l := listenTo(t, e.serve(), powerStream)
	l.event()
	<-time.After(400 * time.Millisecond)
	e.post("power", `{"user":"a","add":9}`).want(202)
	if _, event := l.event(); event.rows() != "1 a 9" {
		t.Errorf("got %s", event.rows())
	}
}

// A stop ends streams and feeds first, since it waits for every answer to end.
func TestStopEndsStreams(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),    // one for the process
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2")) // ends within its 10 s sleep
	e := newEdge(t, nil)
	address, stop, done := e.start(nil)
	defer stop()
	var all []*listening
	for range 20 {
		l := listenTo(t, address, powerStream)
		l.event()
		all = append(all, l)
	}
	stop()
	for _, l := range all {
		l.ends()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !e.closed() {
		t.Error("a stream is left")
	}
	if _, ok := e.hub.listen(topic{board: e.calendars["power"].board, limit: 1}); ok {
		t.Error("a stopped gateway starts a feed")
	}
}
