package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"rankgate/gateway/address"
	"rankgate/gateway/identity"
)

// elsewhere is a listener whose connections seem to come from the addresses it is told, each in its turn.
type elsewhere struct {
	net.Listener
	from chan string
}

type elsewhereConn struct {
	*net.TCPConn
	addr net.Addr
}

func (c *elsewhereConn) RemoteAddr() net.Addr { return c.addr }

func (l *elsewhere) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &elsewhereConn{c.(*net.TCPConn), &net.TCPAddr{IP: net.ParseIP(<-l.from), Port: 4711}}, nil
}

// world lets a test connect from anywhere.
type world struct {
	t       *testing.T
	address string
	from    chan string
}

func (e *edge) world() *world {
	w := &world{t: e.t, from: make(chan string, 1)}
	w.address = e.serveOn(func(ln net.Listener) net.Listener { return &elsewhere{ln, w.from} })
	return w
}

// from connects from an address.
func (w *world) dial(from string) *raw {
	w.t.Helper()
	w.from <- from
	return dial(w.t, w.address)
}

// get asks on a connection; header lines end in \r\n.
func (r *raw) get(path, header string) reply {
	r.t.Helper()
	r.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + header + "\r\n")
	return r.reply()
}

func proxies(t *testing.T, texts ...string) (all identity.Proxies) {
	t.Helper()
	for _, text := range texts {
		p, err := identity.ParseProxy(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

const powerTop = "/v1/boards/power/top"

// admitted is how many of n requests are answered, one connection after another; the others are refused as they should be.
func (w *world) admitted(n int, from, path, header string) (answered int) {
	w.t.Helper()
	c := w.dial(from)
	for range n {
		r := c.get(path, header)
		if r.status == 200 {
			answered++
			continue
		}
		r.problem(tooManyRequests)
		if wait, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || wait < 1 || wait > 2 {
			w.t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
		}
		if r.header.Get("RateLimit") == "" || r.header.Get("RateLimit-Policy") == "" {
			w.t.Errorf("%v", r.header)
		}
	}
	return answered
}

// frozen limits an edge to so many requests a second and lets no time pass, so that none comes back.
func (e *edge) frozen(rps int) *edge {
	now := time.Now()
	e.limits.now = func() time.Time { return now }
	e.limits.rates = address.NewRates(rps)
	return e
}

func TestRequestsOfOneAddress(t *testing.T) {
	w := newEdge(t, func(c *Config) { c.Limits.PerAddressRPS = 3 }).frozen(3).world()
	for _, c := range []struct {
		what, from, header string
		want               int
	}{
		{"one address", "192.0.2.1", "", 6},
		{"the same, with a lie", "192.0.2.1", "X-Forwarded-For: 6.6.6.6\r\n", 0},
		{"another address", "192.0.2.2", "", 6},
		{"a network of IPv6", "2001:db8:1:2::1", "", 6},
		{"the same network", "2001:db8:1:2:3::1", "", 0},
		{"loopback, since a limit is set", "127.0.0.1", "", 6},
	} {
		if n := w.admitted(10, c.from, powerTop, c.header); n != c.want {
			t.Errorf("%s: %d answered, want %d", c.what, n, c.want)
		}
	}
	w.dial("192.0.2.1").get("/livez", "").want(200)
	w.dial("192.0.2.1").get("/readyz", "").want(200)
	w.dial("192.0.2.1").get("/nothing", "").problem(tooManyRequests)
}

// Made-up users do not give more exact ranks than the address may have requests.
func TestRotatingUsersAreOneAddress(t *testing.T) {
	w := newRationed(t, func(c *Config) { c.Limits.PerAddressRPS = 3 }).frozen(3).world()
	c, refused := w.dial("192.0.2.1"), 0
	for i := range 40 {
		if r := c.get(fmt.Sprintf("/v1/boards/power/users/made-up-%d/rank?precision=exact", i), ""); r.status == 429 {
			r.problem(tooManyRequests)
			refused++
		}
	}
	if refused != 34 {
		t.Errorf("%d of 40 were refused", refused)
	}
}

// Loopback, and a proxy that does not tell whom it speaks for, are not held to the default; others are.
func TestDefaultLimitsSpareLoopback(t *testing.T) {
	w := newEdge(t, func(c *Config) {
		c.Limits = Limits{}
		c.Auth.Users.Proxies = proxies(t, "10.0.0.0/8")
	}).frozen(defaultRPS).world()
	const many = 2*defaultRPS + 100
	for _, c := range []struct {
		from, header string
		want         int
	}{
		{"127.0.0.1", "", many},
		{"::1", "", many},
		{"10.1.2.3", "", many},
		{"192.0.2.1", "", 2 * defaultRPS},
		{"10.1.2.3", "X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\n", 0},
		{"10.1.2.3", "X-Forwarded-For: 192.0.2.1, 192.0.2.77\r\n", 2 * defaultRPS},
	} {
		if n := w.admitted(many, c.from, powerTop, c.header); n != c.want {
			t.Errorf("%s, %q: %d answered, want %d", c.from, c.header, n, c.want)
		}
	}
}

// A set limit counts a proxy that writes rubbish by its own address, so rubbish is no way round.
func TestRubbishCountsForThePeer(t *testing.T) {
	w := newEdge(t, func(c *Config) {
		c.Limits.PerAddressRPS = 3
		c.Auth.Users.Proxies = proxies(t, "127.0.0.1")
	}).frozen(3).world()
	c, refused := w.dial("127.0.0.1"), 0
	for i := range 40 {
		if c.get(powerTop, fmt.Sprintf("X-Forwarded-For: rubbish-%d\r\n", i)).status == 429 {
			refused++
		}
	}
	if refused != 34 {
		t.Errorf("%d of 40 were refused", refused)
	}
	if n := w.admitted(6, "127.0.0.1", powerTop, "X-Forwarded-For: 192.0.2.5\r\n"); n != 6 {
		t.Errorf("a client of the proxy: %d answered", n)
	}
}

// A service that shows its key is not held to what users may ask; whoever guesses keys is.
func TestAServiceIsNotLimited(t *testing.T) {
	sum := sha256.Sum256([]byte("secret-1"))
	w := newEdge(t, func(c *Config) {
		c.Limits.PerAddressRPS = 3
		c.Auth.Service = ServiceAuth{Mode: ModeKeys, Keys: []ServiceKey{{"shop", hex.EncodeToString(sum[:])}}}
	}).frozen(3).world()
	c := w.dial("192.0.2.1")
	write := func(key string) reply {
		const body = `{"ops":[{"user":"a","add":1}]}`
		c.send(fmt.Sprintf("POST /v1/boards/power/scores HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", key, len(body), body))
		return c.reply()
	}
	for range 50 {
		write("secret-1").want(202)
	}
	write("secret-2").problem(tooManyRequests)
	w.dial("192.0.2.2").get(powerTop, "").want(200)
}

// Connections of one address are capped, whatever they do, and what is closed is free again.
func TestConnectionsOfOneAddress(t *testing.T) {
	e := newEdge(t, func(c *Config) {
		c.Limits.PerAddressConns = 3
		c.Auth.Users.Proxies = proxies(t, "10.0.0.0/8")
	})
	w := e.world()
	hoard := []*raw{w.dial("192.0.2.1"), w.dial("192.0.2.1"), w.dial("192.0.2.1")}
	hoard[0].get("/livez", "").want(200)
	hoard[1].send("GET / HTTP/1.1\r\nX-Slow: ") // and no more
	for range 100 {
		over := w.dial("192.0.2.1")
		if r, err := over.tryReply(); err == nil {
			r.want(429).field("type", "/problems/too-many-connections")
			if r.header.Get("Retry-After") == "" || r.header.Get("Connection") != "close" {
				t.Errorf("%v", r.header)
			}
			over.closed()
		} else if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err) // it may be closed without a word when many are turned away at once
		}
	}
	w.dial("192.0.2.2").get("/livez", "").want(200)
	for range 10 {
		w.dial("10.0.0.1").get("/livez", "").want(200)
	}
	_ = hoard[2].Close()
	eventually(t, "the closed one's place is free", func() bool { return w.dial("192.0.2.1").answers() })
}

// A network of IPv6 is one hoarder, whichever of its addresses it comes from, with half a request on each connection.
func TestConnectionsOfOneNetwork(t *testing.T) {
	const most = 8
	w := newEdge(t, func(c *Config) { c.Limits.PerAddressConns = most }).world()
	var hoard []*raw
	for i := range most {
		c := w.dial(fmt.Sprintf("2001:db8:1:2:%x::1", i))
		c.send("GET /livez HTTP/1.1\r\nHost: x\r\n")
		hoard = append(hoard, c)
	}
	w.dial("2001:db8:1:2:ffff::1").reply().want(429).field("type", "/problems/too-many-connections")
	for _, other := range []string{"2001:db8:1:3::1", "192.0.2.1"} {
		w.dial(other).get("/livez", "").want(200)
	}
	for _, c := range hoard {
		c.expecting("\r\n").want(200)
	}
}

// answers reports whether the connection is served.
func (r *raw) answers() bool {
	r.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	reply, err := r.tryReply()
	return err == nil && reply.status == 200
}

// tryReply is reply for connections that may be closed instead.
func (r *raw) tryReply() (reply, error) {
	if _, err := r.br.Peek(1); err != nil {
		return reply{}, err
	}
	return r.reply(), nil
}

// When all connections there may be are open, a further one is told so, wherever it comes from.
func TestAllConnections(t *testing.T) {
	e := newEdge(t, nil)
	e.limits.all = 2
	w := e.world()
	one := w.dial("127.0.0.1")
	one.get("/livez", "").want(200)
	w.dial("192.0.2.1").get("/livez", "").want(200)
	over := w.dial("192.0.2.2")
	over.reply().want(503).field("type", "/problems/connections-in-use")
	over.closed()
	_ = one.Close()
	eventually(t, "the closed one's place is free", func() bool { return w.dial("192.0.2.3").answers() })
}

// A process that has no file left for a connection waits for one, and does not end.
func TestNoFilesLeft(t *testing.T) {
	e := newEdge(t, nil)
	address := e.serveOn(func(ln net.Listener) net.Listener { return &outOfFiles{Listener: ln, times: 2} })
	dial(t, address).get("/livez", "").want(200)
}

type outOfFiles struct {
	net.Listener
	times int
}

func (l *outOfFiles) Accept() (net.Conn, error) {
	if l.times--; l.times >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// The refusal is as the API's description says.
func TestRefusalIsAsInOpenAPI(t *testing.T) {
	e := newEdge(t, nil).frozen(1)
	_, router := openAPI(t, e)
	for range 3 {
		asIn(t, e, router, "limited", "GET "+powerTop, "")
	}
	e.get(powerTop).problem(tooManyRequests)
	asIn(t, e, router, "limited", "GET /v1/boards/power/users/b/rank?precision=exact", "")
}
