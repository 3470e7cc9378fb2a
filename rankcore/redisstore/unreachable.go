package redisstore

import (
	"net"
	"time"
)

// unreachable is what a dial that failed gives: a connection on which everything fails for that reason. go-redis counts the
// dials that fail, and after some of them answers by itself for a second at a time, also when the server is back by then.
// Whether a sick server is asked is the Sentry's to say.
type unreachable struct{ err error }

func (u unreachable) Read([]byte) (int, error)         { return 0, u.err }
func (u unreachable) Write([]byte) (int, error)        { return 0, u.err }
func (u unreachable) Close() error                     { return nil }
func (u unreachable) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (u unreachable) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (u unreachable) SetDeadline(time.Time) error      { return nil }
func (u unreachable) SetReadDeadline(time.Time) error  { return nil }
func (u unreachable) SetWriteDeadline(time.Time) error { return nil }
