package loadtest

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"rankgate/loadtest/servers"
)

// Proxy carries TCP connections to a server and hurts them when told to. Requests always reach the server; it
// is the replies that are late or lost, so that whoever asked does not know what was done. Safe for
// concurrent use.
type Proxy struct {
	Addr string // host:port to connect to instead of the server

	listener net.Listener
	carrying sync.WaitGroup

	mu     sync.Mutex // guards all below
	target string
	lose   float64
	delay  time.Duration
	rng    *rand.Rand
	links  map[*link]struct{}
	closed bool
}

// link is a connection through the proxy.
type link struct{ client, server net.Conn }

// cut ends the link by resets, as a machine in between that has forgotten it would.
func (l *link) cut() {
	for _, c := range []net.Conn{l.client, l.server} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // it may be closed already
		}
		_ = c.Close()
	}
}

// NewProxy listens on a free loopback port until the host's test ends.
func NewProxy(host servers.Host, target string, seed uint64) *Proxy {
	host.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		host.Fatalf("proxy: %v", err)
	}
	p := &Proxy{
		Addr: listener.Addr().String(), listener: listener, target: target,
		rng: rand.New(rand.NewPCG(seed, 1)), links: map[*link]struct{}{},
	}
	p.carrying.Go(p.accept)
	host.Cleanup(p.close)
	return p
}

// Aim sends new connections to another server and cuts those there are.
func (p *Proxy) Aim(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.Cut()
}

// Lose loses each piece of a reply with this probability, and its connection with it. 0 is none.
func (p *Proxy) Lose(probability float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = probability
}

// Delay holds every piece of a reply back for so long.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Cut resets every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.carrying.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.carrying.Go(func() { p.carry(client) })
	}
}

func (p *Proxy) carry(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", target)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client, server}
	if !p.hold(l, target) {
		l.cut()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pump(server, client, func() bool { return true }); l.cut() })
	both.Go(func() { pump(client, server, p.passes); l.cut() })
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// hold keeps the link to be cut, unless the proxy was aimed elsewhere or closed while the link was made.
func (p *Proxy) hold(l *link, target string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.target != target {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

// passes says whether a piece of a reply is carried on, when its time has come.
func (p *Proxy) passes() bool {
	p.mu.Lock()
	lost, delay := p.lose > 0 && p.rng.Float64() < p.lose, p.delay
	p.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	return !lost
}

// pump copies pieces as they come until one end is closed or a piece does not pass.
func pump(to, from net.Conn, passes func() bool) {
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if !passes() {
				return
			}
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
