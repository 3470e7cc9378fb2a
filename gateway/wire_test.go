package gateway

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"rankgate/rankcore"
)

// serve runs the edge on a loopback port until the test ends, and returns its address.
func (e *edge) serve() string {
	e.t.Helper()
	return e.serveOn(nil)
}

// serveOn is serve on what with makes of the listener.
func (e *edge) serveOn(with func(net.Listener) net.Listener) string {
	e.t.Helper()
	address, stop, done := e.start(with)
	e.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			e.t.Error(err)
		}
	})
	return address
}

// start is serveOn until stop is called; done has how that ended. With nil the listener is what it is.
func (e *edge) start(with func(net.Listener) net.Listener) (address string, stop context.CancelFunc, done <-chan error) {
	e.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.t.Fatal(err)
	}
	if with != nil {
		ln = with(ln)
	}
	ctx, stop := context.WithCancel(context.Background())
	e.t.Cleanup(stop)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx, ln) }()
	return ln.Addr().String(), stop, ended
}

// raw is a connection that says what it is told.
type raw struct {
	net.Conn
	t  *testing.T
	br *bufio.Reader
}

func dial(t *testing.T, address string) *raw {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := &raw{c, t, bufio.NewReader(c)}
	r.patient()
	return r
}

// patient gives the server 20 s for what comes next.
func (r *raw) patient() {
	r.t.Helper()
	if err := r.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) send(text string) {
	r.t.Helper()
	r.patient()
	if _, err := io.WriteString(r, text); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) reply() reply {
	r.t.Helper()
	res, err := http.ReadResponse(r.br, httptest.NewRequest("GET", "/", nil))
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if res.Close {
		res.Header.Set("Connection", "close")
	}
	return reply{r.t, res.StatusCode, res.Header, string(body)}
}

// closed checks that the server ends the connection.
func (r *raw) closed() {
	r.t.Helper()
	if n, err := r.br.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		r.t.Errorf("the connection goes on: %d %v", n, err)
	}
}

// Requests that two servers in a row may read differently are refused, nothing of them is repeated, and the
// connection ends, so that nothing after them is taken for a request.
func TestSmuggling(t *testing.T) {
	e := newEdge(t, nil)
	address := e.serve()
	const post, smuggled = "POST /v1/boards/power/scores HTTP/1.1\r\n", "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, text := range map[string]string{
		"two lengths":              post + "Host: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
		"two equal lengths":        post + "Host: x\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
		"length and chunks":        post + "Host: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunks and length":        post + "Host: x\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
		"identity and length":      post + "Host: x\r\nTransfer-Encoding: identity\r\nContent-Length: 4\r\n\r\nabcd",
		"two encodings":            post + "Host: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"an encoding list":         post + "Host: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"LF in a chunk extension":  post + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n2;x\nab\r\n0\r\n\r\n",
		"chunks in HTTP/1.0":       "POST /v1/boards/power/scores HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"no host":                  "GET /v1/boards HTTP/1.1\r\n\r\n",
		"two hosts":                "GET /v1/boards HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
		"a space before the colon": "GET /v1/boards HTTP/1.1\r\nHost : x\r\n\r\n",
		"a negative length":        post + "Host: x\r\nContent-Length: -1\r\n\r\n",
		"a signed length":          post + "Host: x\r\nContent-Length: +4\r\n\r\nabcd",
		"no HTTP":                  "smuggled\r\n\r\n",
		"identity":                 post + "Host: x\r\nTransfer-Encoding: identity\r\n\r\n",
		"a folded encoding":        post + "Host: x\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n",
		"a folded length":          post + "Host: x\r\nContent-Length:\r\n 4\r\n\r\nabcd",
		"a length in a fold":       post + "Host: x\r\nX-A: b\r\n Content-Length: 4\r\n\r\n",
		"lines that end with LF":   "GET /v1/boards HTTP/1.1\nHost: x\n\n",
		"a line that ends with LF": post + "Host: x\r\nX-A: b\nContent-Length: 4\r\n\r\nabcd",
		"an end of LF":             "GET /v1/boards HTTP/1.1\r\nHost: x\r\n\n",
		"a CR within a line":       "GET /v1/boards HTTP/1.1\r\nHost: x\r\nX-A: b\rX-B: c\r\n\r\n",
		"a space in a name":        post + "Host: x\r\nContent-Length x: 4\r\n\r\n",
		"a length in hex":          post + "Host: x\r\nContent-Length: 0x4\r\n\r\nabcd",
		"a list of lengths":        post + "Host: x\r\nContent-Length: 4, 4\r\n\r\nabcd",
		"a length that wraps":      post + "Host: x\r\nContent-Length: 18446744073709551620\r\n\r\nabcd",
		"a chunk in hex":           post + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n0x4\r\nabcd\r\n0\r\n\r\n",
		"a signed chunk":           post + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n+4\r\nabcd\r\n0\r\n\r\n",
		"a negative chunk":         post + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n-4\r\nabcd\r\n0\r\n\r\n",
		"a chunk that wraps":       post + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000004\r\nabcd\r\n0\r\n\r\n",
		"a chunk without end":      post + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcdXX0\r\n\r\n",
		"a length in the trailer":  post + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\nContent-Length: 4\r\n\r\n",
		"a trailer":                post + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\nX-A: b\r\n\r\n",
		"an announced trailer":     post + "Host: x\r\nTrailer: X-A\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\nX-A: b\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, address)
			c.send(text + smuggled)
			r := c.reply().problem(badRequest)
			if strings.Contains(r.body, "smuggled") || strings.Contains(r.body, "abcd") {
				t.Errorf("the request is repeated: %s", r.body)
			}
			if r.header.Get("Connection") != "close" {
				t.Errorf("Connection: %q", r.header.Get("Connection"))
			}
			c.closed()
		})
	}
	if _, known := e.scores["power"]; known {
		t.Error("something was written")
	}
}

// A body that is announced as too large is refused while none of it was sent, and a caller that sends it all
// the same still gets to read why.
func TestTooLarge(t *testing.T) {
	address := newEdge(t, nil).serve()
	const scores, rank = "POST /v1/boards/power/scores", "GET /v1/boards/power/top"
	json := " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"a write":       scores + json + "Content-Length: 1048577\r\n\r\n",
		"a huge write":  scores + json + "Content-Length: 10000000000\r\n\r\n",
		"with expect":   scores + json + "Expect: 100-continue\r\nContent-Length: 1048577\r\n\r\n",
		"a read":        rank + json + "Content-Length: 16385\r\n\r\n",
		"a removal":     "DELETE /v1/boards/power/users/a" + json + "Content-Length: 16385\r\n\r\n",
		"in one chunk":  scores + json + "Transfer-Encoding: chunked\r\n\r\n100001\r\n",
		"sent anyway":   scores + json + "Content-Length: 1200000\r\n\r\n" + strings.Repeat(" ", 1200000),
		"a batch":       "POST /v1/boards/power/ranks?season=all" + json + "Content-Length: 16385\r\n\r\n",
		"a read's body": rank + json + "Content-Length: 20000\r\n\r\n" + strings.Repeat(" ", 20000),
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, address)
			c.send(text)
			if r := c.reply().problem(bodyTooLarge); r.header.Get("Connection") != "close" {
				t.Errorf("Connection: %q", r.header.Get("Connection"))
			}
		})
	}
	t.Run("the header", func(t *testing.T) {
		c := dial(t, address)
		c.send(rank + json + "X-Long: " + strings.Repeat("x", maxHeaderBytes) + "\r\n\r\n")
		c.reply().problem(headerTooLarge)
		c.closed()
	})
	t.Run("just not", func(t *testing.T) {
		c := dial(t, address)
		body := `{"ops":[{"user":"a","add":1}]}`
		body += strings.Repeat(" ", maxWriteBytes-len(body))
		c.send(scores + json + "Expect: 100-continue\r\nContent-Length: 1048576\r\n\r\n")
		if status := c.reply().status; status != http.StatusContinue {
			t.Fatalf("status %d, want 100", status)
		}
		c.send(body)
		c.reply().want(202)
	})
}

// A caller that sends its header byte by byte, for ever, is cut off.
func TestSlowHeader(t *testing.T) {
	e := newEdge(t, nil)
	e.App().Server().ReadTimeout = 300 * time.Millisecond
	c := dial(t, e.serve())
	c.send("GET /v1/boards HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	stop := make(chan struct{})
	go func() {
		for drip := time.Tick(10 * time.Millisecond); ; {
			select {
			case <-drip:
				_, _ = io.WriteString(c, "x")
			case <-stop:
				return
			}
		}
	}()
	defer close(stop)
	c.reply().problem(tooSlow)
}

// Fiber's strings are views into a buffer that the next request on the connection reuses: an id that is kept
// uncopied becomes another one.
func TestEveryAnswerIsForItsUser(t *testing.T) {
	const users = 10_000
	asked := &recorder{users: map[rankcore.UserID]int{}}
	e := newEdge(t, func(c *Config) { c.Reader = asked })
	c := dial(t, e.serve())
	for i := range users {
		c.send(fmt.Sprintf("GET /v1/boards/power/users/user%05d/rank HTTP/1.1\r\nHost: x\r\n\r\n", i))
		c.reply().want(200).field("user", fmt.Sprintf("user%05d", i))
	}
	if len(asked.users) != users {
		t.Errorf("%d different users were asked about, want %d", len(asked.users), users)
	}
	for u, n := range asked.users {
		if n != 1 {
			t.Fatalf("%s was asked about %d times", u, n)
		}
	}
}

// recorder keeps every user it is asked about, as a cache would: its own copy.
type recorder struct {
	rankcore.Reader
	users map[rankcore.UserID]int
}

func (r *recorder) Rank(_ context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	r.users[rankcore.UserID(strings.Clone(string(q.User)))]++
	return &rankcore.Standing{Meta: rankcore.Meta{Status: rankcore.Fresh, AsOf: time.Now()}, User: q.User, Precision: rankcore.Exact}, nil
}

// A stop says no on /readyz first, answers what is in flight, and leaves no goroutine and no connection.
func TestStop(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),    // one for the process
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2")) // ends within its 10 s sleep
	e := newEdge(t, func(c *Config) { c.Drain = 200 * time.Millisecond })
	address, stop, done := e.start(nil)
	defer stop()

	idle, busy, probe := dial(t, address), dial(t, address), dial(t, address)
	idle.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	idle.reply().want(200)
	e.hold()
	body := `{"ops":[{"user":"a","add":1}]}`
	busy.send(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", applied, len(body), body))
	eventually(t, "the write is in the log", e.pending)

	stop()
	eventually(t, "/readyz says no", func() bool {
		probe.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
		return probe.reply().status == http.StatusServiceUnavailable
	})
	busy.reply().want(202).field("applied", "false")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the listener is still open")
	}
	idle.closed()
}

func TestServeFails(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if err := newEdge(t, nil).Run(t.Context(), ln); err == nil {
		t.Error("serving a closed listener ended well")
	}
}

func TestReadyz(t *testing.T) {
	var health Health
	e := newEdge(t, func(c *Config) { c.Health = func(context.Context) Health { return health } })
	health = Health{Ready: true, Dependencies: map[string]Dependency{"log": {State: OK, Durability: "fsync"}, "store": {State: OK}}}
	r := e.get("/readyz").want(200).field("status", "ok").field("ready", "true")
	if !strings.Contains(r.body, `"log":{"status":"ok","durability":"fsync"}`) {
		t.Error(r.body)
	}
	health.Dependencies["store"] = Dependency{State: Down, Detail: "no answer for 4 s"}
	e.get("/readyz").want(200).field("status", "degraded")
	health.Ready = false
	e.get("/readyz").want(503).field("status", "down").field("ready", "false")
	e.get("/livez").want(200).field("status", "ok")
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	e := newEdge(t, func(c *Config) { c.Ops, c.Gatherer, c.Registerer = true, registry, registry })
	e.get("/v1/boards/power/top").want(200)
	e.get("/v1/boards/nothing/top").want(404)
	e.get("/nothing").want(404)
	e.post("power", `{"user":"a","add":1},{"user":"b","add":1}`).want(202)
	page := e.get("/metrics").want(200).body
	for _, line := range []string{
		`rankgate_gateway_requests_total{code="2xx",route="/v1/boards/:board/top"} 1`,
		`rankgate_gateway_requests_total{code="4xx",route="/v1/boards/:board/top"} 1`,
		`rankgate_gateway_requests_total{code="4xx",route="none"} 1`,
		`rankgate_gateway_request_duration_seconds_count{route="/v1/boards/:board/top"} 2`,
		`rankgate_gateway_accepted_operations_total{key=""} 2`,
	} {
		if !strings.Contains(page, line) {
			t.Errorf("missing: %s", line)
		}
	}
}

// Only the operations routes are there without a reader, as a core has it.
func TestOperationsOnly(t *testing.T) {
	registry := prometheus.NewRegistry()
	e := newEdge(t, func(c *Config) { c.Reader, c.Ops, c.Gatherer = nil, true, registry })
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		e.get(path).want(200)
	}
	for _, path := range []string{"/", "/v1/boards", "/openapi.json"} {
		e.get(path).problem(notFound)
	}
}

// A handler that panics is a bug: it is logged and answered, and the process goes on.
func TestPanic(t *testing.T) {
	e := newEdge(t, nil)
	e.core.page = func(*rankcore.Page) { panic("secret") }
	r := e.get("/v1/boards/power/top").problem(internal)
	if strings.Contains(r.body, "secret") {
		t.Error(r.body)
	}
	e.get("/livez").want(200)
}

func TestConfigIsWhole(t *testing.T) {
	_, err := New(Config{Reader: newCore(), Ops: true})
	for _, name := range []string{"Health", "Gatherer", "Boards", "Writer", "Applied", "Outcomes"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not missed: %v", name, err)
		}
	}
}

// Two answers of different bodies have different digests; as_of alone makes none.
func TestDigest(t *testing.T) {
	b := board("power", nil)
	page := rankcore.Page{Meta: rankcore.Meta{Status: rankcore.Fresh, AsOf: time.Unix(1, 0)}, Entries: []rankcore.Entry{{Rank: 1, User: "a", Score: 1}}}
	var e encoder
	e.top(b, &page)
	first, body := e.digest(), bytes.Clone(e.buf)
	page.AsOf = time.Unix(2, 0)
	if e.top(b, &page); e.digest() != first || bytes.Equal(e.buf, body) {
		t.Error("as_of changes the digest")
	}
	page.Total++
	if e.top(b, &page); e.digest() == first {
		t.Error("a total does not change the digest")
	}
}
