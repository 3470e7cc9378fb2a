package redisstore

import (
	"net"
	"testing"
	"time"
)

// Connections that nobody takes from their pool are closed, and a pool that finds them later sees it.
func TestIdleConnectionsAreClosed(t *testing.T) {
	conns, now := &idlers{}, time.Now()
	open := func() (*idler, net.Conn) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		return conns.add(ours, now), theirs
	}
	used, _ := open()
	left, far := open()
	shut, _ := open()
	if err := shut.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		now = now.Add(idleFor / 2)
		conns.take(used, now)
	}
	if _, err := far.Read(make([]byte, 1)); err == nil {
		t.Error("the connection nobody used is open")
	}
	for name, c := range map[string]*idler{"left": left, "shut": shut} {
		if _, err := c.SyscallConn(); err == nil {
			t.Errorf("%s: it looks alive", name)
		}
	}
	if _, err := used.SyscallConn(); err != nil {
		t.Errorf("used: %v", err)
	}
	if err := left.Close(); err != nil {
		t.Errorf("a pool throws away what was closed: %v", err)
	}
	if len(conns.conns) != 1 {
		t.Errorf("%d connections are known, want the one that is used", len(conns.conns))
	}
}
