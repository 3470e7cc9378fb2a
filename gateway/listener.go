package gateway

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// listener knows the connections it accepted, so that a stop leaves none behind.
type listener struct {
	net.Listener

	// mu guards open. Never held while a connection is used.
	mu   sync.Mutex
	open map[*conn]struct{}
}

func newListener(ln net.Listener) *listener {
	return &listener{Listener: ln, open: make(map[*conn]struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, from: l}
	l.mu.Lock()
	l.open[c] = struct{}{}
	l.mu.Unlock()
	return c, nil
}

func (l *listener) forget(c *conn) {
	l.mu.Lock()
	delete(l.open, c)
	l.mu.Unlock()
}

// closeAll closes what is still open.
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
}

// conn is a connection that may linger on Close.
type conn struct {
	net.Conn
	from   *listener
	linger atomic.Bool
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
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerFor)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // ends at the peer's close, the deadline or the bound
		}
	}
	return c.Conn.Close()
}
