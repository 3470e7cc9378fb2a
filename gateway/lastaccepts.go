package gateway

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// Bounds of accepting the last connections.
const (
	acceptOne  = 2 * time.Millisecond   // nobody waits who does not come within it
	acceptLast = 200 * time.Millisecond // for all of them
)

// lastAccepts are the connections that are accepted by a stop. The kernel resets those that it took in and that nobody
// accepted, though their clients may have sent requests already.
type lastAccepts struct {
	until atomic.Pointer[time.Time] // nil: no stop yet
	over  chan struct{}             // closed with the listener
}

type bounded interface{ SetDeadline(t time.Time) error }

// Close ends listening, after those have been accepted that wait for it.
func (l *listener) Close() error {
	ln, ok := l.Listener.(bounded)
	until := time.Now().Add(acceptLast)
	if ok && l.last.until.CompareAndSwap(nil, &until) && ln.SetDeadline(time.Now()) == nil {
		select {
		case <-l.last.over:
			return nil
		case <-time.After(2 * acceptLast): // nobody accepts
		}
	}
	return l.Listener.Close()
}

// next accepts the next connection. In a stop it accepts who waits, closes the listener then, and fails with
// net.ErrClosed.
func (l *listener) next() (net.Conn, error) {
	c, err := l.Listener.Accept()
	until := l.last.until.Load()
	if until == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return c, err
	}
	if ln := l.Listener.(bounded); time.Now().Before(*until) && ln.SetDeadline(time.Now().Add(acceptOne)) == nil {
		if c, err = l.Listener.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
	}
	defer close(l.last.over)
	return nil, errors.Join(net.ErrClosed, l.Listener.Close())
}
