package gateway

import (
	"errors"
	"net"
	"testing"
)

// Connections that the kernel took in before a stop are accepted by it, and none after it.
func TestCloseAcceptsWhoWaits(t *testing.T) {
	e := newEdge(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(ln, e.limits)
	const waiting = 50
	for range waiting {
		dial(t, ln.Addr().String())
	}
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	accepted := 0
	for {
		c, err := l.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
			break
		}
		accepted++
		defer c.Close()
	}
	if err := <-closed; err != nil || accepted != waiting {
		t.Errorf("%d of %d were accepted: %v", accepted, waiting, err)
	}
	if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

// Nobody need accept for a listener to be closed.
func TestCloseWithoutAccepting(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := newListener(ln, newEdge(t, nil).limits).Close(); err != nil {
		t.Error(err)
	}
}
