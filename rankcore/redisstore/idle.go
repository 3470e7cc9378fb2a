package redisstore

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// idleFor is how long a connection may lie unused. go-redis gives out the one that was used last, and looks at the age of
// others only when it needs them, so that those which a bad moment opened would lie there for ever.
const idleFor = 10 * time.Second

// idlers are connections of several clients: whenever one of them is used, those are closed that nobody uses. Safe for
// concurrent use.
type idlers struct {
	mu    sync.Mutex // guards all below, and when a connection was taken and whether it ended
	conns map[*idler]struct{}
	swept time.Time
}

// idler is a connection that knows when it was last taken from its pool.
type idler struct {
	net.Conn
	of    *idlers
	taken time.Time
	ended bool
}

var _ syscall.Conn = (*idler)(nil)

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// after is dial, whose connections are then among the idlers, or unreachable.
func (l *idlers) after(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return &idler{Conn: unreachable{err}, of: l, ended: true}, nil // which no pool takes for alive
		}
		return l.add(conn, time.Now()), nil
	}
}

func (l *idlers) add(conn net.Conn, now time.Time) *idler {
	c := &idler{Conn: conn, of: l}
	l.mu.Lock()
	if l.conns == nil {
		l.conns = map[*idler]struct{}{}
	}
	l.conns[c] = struct{}{}
	l.mu.Unlock()
	l.take(c, now)
	return c
}

// take notes that c is used now, and closes those that have not been for long.
func (l *idlers) take(c *idler, now time.Time) {
	for _, old := range l.sweep(c, now) {
		_ = old.Conn.Close() // nobody waits for anything there
	}
}

func (l *idlers) sweep(c *idler, now time.Time) (old []*idler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.taken = now
	if now.Sub(l.swept) < idleFor/10 {
		return nil
	}
	l.swept = now
	for other := range l.conns {
		if now.Sub(other.taken) > idleFor {
			other.ended = true
			delete(l.conns, other)
			old = append(old, other)
		}
	}
	return old
}

// SetDeadline is what a pool does first with a connection that it gives out, and nothing else does: commands set one
// deadline for reading and another for writing.
func (c *idler) SetDeadline(t time.Time) error {
	c.of.take(c, time.Now())
	return c.Conn.SetDeadline(t)
}

// SyscallConn is how a pool then asks whether the connection is alive. One that was closed here is not. Behind TLS nobody can
// tell otherwise: bytes that wait there may be TLS's own.
func (c *idler) SyscallConn() (syscall.RawConn, error) {
	c.of.mu.Lock()
	ended := c.ended
	c.of.mu.Unlock()
	if ended {
		return nil, net.ErrClosed
	}
	if plain, ok := c.Conn.(syscall.Conn); ok {
		return plain.SyscallConn()
	}
	return unseen{}, nil
}

// Close forgets the connection.
func (c *idler) Close() error {
	c.of.mu.Lock()
	ended := c.ended
	c.ended = true
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	if ended {
		return nil
	}
	return c.Conn.Close()
}

// unseen is a connection that cannot be looked into.
type unseen struct{}

func (unseen) Control(func(fd uintptr)) error    { return nil }
func (unseen) Read(func(fd uintptr) bool) error  { return nil }
func (unseen) Write(func(fd uintptr) bool) error { return nil }
