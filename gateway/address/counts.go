package address

import (
	"net/netip"
	"sync"
)

// Counts bound how many things each address has open at one time. Safe for concurrent use.
type Counts struct {
	most int

	// mu guards each: addresses that have something open.
	mu   sync.Mutex
	each map[netip.Addr]int
}

// NewCounts allows each address most things, at least 1.
func NewCounts(most int) *Counts { return &Counts{most: most, each: make(map[netip.Addr]int)} }

// Most is how many things an address may have.
func (c *Counts) Most() int { return c.most }

// Enter counts one more of addr, and reports whether it may be. Each true needs one Leave.
func (c *Counts) Enter(addr netip.Addr) bool {
	addr = Of(addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.each[addr] >= c.most {
		return false
	}
	c.each[addr]++
	return true
}

// Leave counts one less of addr.
func (c *Counts) Leave(addr netip.Addr) {
	addr = Of(addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.each[addr]--; c.each[addr] == 0 {
		delete(c.each, addr)
	}
}
