package gateway

import (
	"sync/atomic"
	"time"
)

// patience is a deadline of a connection. Servers set several for each request, most of them before a read that finds
// everything there, and each costs more than to look an answer up. So the one for reading takes effect when something
// is read, and no deadline is moved by less than patienceStep: it may come that much sooner. Safe for concurrent use.
type patience struct {
	wanted atomic.Int64 // Unix nanoseconds; 0: for ever
	armed  atomic.Int64
}

const patienceStep = 200 * time.Millisecond

func (p *patience) want(t time.Time) {
	if t.IsZero() {
		p.wanted.Store(0)
		return
	}
	p.wanted.Store(t.UnixNano())
}

// arm lets set what is wanted, unless what was set before is about that.
func (p *patience) arm(set func(time.Time) error) error {
	wanted, armed := p.wanted.Load(), p.armed.Load()
	if wanted == armed || armed != 0 && armed < wanted && wanted-armed < int64(patienceStep) {
		return nil
	}
	p.armed.Store(wanted)
	if wanted == 0 {
		return set(time.Time{})
	}
	return set(time.Unix(0, wanted))
}

// SetReadDeadline takes effect with the next Read.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.reading.want(t)
	return nil
}

// Read reads within the deadline.
func (c *conn) Read(b []byte) (int, error) {
	if err := c.reading.arm(c.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// SetWriteDeadline takes effect at once, for a write under way too.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writing.want(t)
	return c.writing.arm(c.Conn.SetWriteDeadline)
}

// SetDeadline sets both.
func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t) // it does not fail
	return c.SetWriteDeadline(t)
}
