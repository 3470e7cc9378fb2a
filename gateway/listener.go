package gateway

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// listener knows the connections it accepted, so that a stop leaves none behind, and turns away those that are too
// many.
type listener struct {
	net.Listener
	limits *limiter

	// mu guards open. Never held while a connection is used.
	mu   sync.Mutex
	open map[*conn]struct{}

	last lastAccepts

	places  chan struct{}  // for those that are being turned away
	leaving sync.WaitGroup // they
}

func newListener(ln net.Listener, limits *limiter) *listener {
	return &listener{Listener: ln, limits: limits, open: make(map[*conn]struct{}), last: lastAccepts{over: make(chan struct{})}, places: make(chan struct{}, maxLeaving)}
}

// Accept goes on when the process has no file left for another connection: to its server an error is the end.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.next()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
			l.limits.g.metrics.turnedAway.Inc()
			<-time.After(acceptAgain)
			continue
		case err != nil:
			return nil, err
		}
		if c := l.admit(accepted); c != nil {
			return c, nil
		}
	}
}

// admit is the connection to serve, or nil for one too many.
func (l *listener) admit(accepted net.Conn) *conn {
	c := &conn{Conn: accepted, from: l, peer: peerOf(accepted.RemoteAddr())}
	counted, may := l.limits.connects(c.peer)
	c.counted.Store(counted)
	if !may {
		l.turnAway(c, tooManyConns)
		return nil
	}
	l.mu.Lock()
	full := len(l.open) >= l.limits.all
	if !full {
		l.open[c] = struct{}{}
	}
	l.mu.Unlock()
	if full {
		l.turnAway(c, connsInUse)
		return nil
	}
	return c
}

func (l *listener) forget(c *conn) {
	l.mu.Lock()
	delete(l.open, c)
	l.mu.Unlock()
	c.uncount()
}

// closeAll closes what is still open, and waits for those that are being turned away.
func (l *listener) closeAll() {
	l.mu.Lock()
	open := make([]*conn, 0, len(l.open))
	for c := range l.open {
		open = append(open, c)
	}
	l.mu.Unlock()
	for _, c := range open {
		_ = c.Conn.Close() // its server loop ends with an error and closes it in its own way
	}
	l.leaving.Wait()
}

// conn is a connection that may linger on Close.
type conn struct {
	net.Conn
	from    *listener
	peer    netip.Addr
	counted atomic.Bool // for its peer
	linger  atomic.Bool

	reading, writing patience
}

// uncount gives the peer the place back, once.
func (c *conn) uncount() {
	if c.counted.Swap(false) {
		c.from.limits.disconnects(c.peer)
	}
}

// Bounds of a lingering close.
const (
	lingerFor   = 500 * time.Millisecond
	lingerBytes = 4 << 20
)

// lingerOn asks for a lingering close. A request was refused before it was read to its end; closing at once
// would reset the connection under the caller, who then may never see the answer.
func lingerOn(c net.Conn) {
	if c, ok := c.(*conn); ok {
		c.linger.Store(true)
	}
}

// Close ends the connection; a lingering one says that nothing more is coming, and reads a little of what
// the peer still sends.
func (c *conn) Close() error {
	defer c.from.forget(c)
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.linger.Load() {
		if half.CloseWrite() == nil && c.Conn.SetReadDeadline(time.Now().Add(lingerFor)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // ends at the peer's close, the deadline or the bound
		}
	}
	return c.Conn.Close()
}
