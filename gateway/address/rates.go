package address

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

const (
	// burst is how much of what it was allowed meanwhile an address may ask for at once.
	burst = 2 * time.Second

	stripes = 16

	// maxRecent bounds the addresses that are remembered at one time in each generation of a stripe: with two of
	// these, some 14 MB in all.
	maxRecent = 4096
)

// Rates allow each address so many questions a second, and as many as two seconds allow at once (GCRA, as in
// ITU-T I.371: all that is kept of an address is when its allowance will be whole again). Safe for concurrent use.
type Rates struct {
	every time.Duration // what one question costs
	seed  maphash.Seed
	each  [stripes]recent
}

// NewRates allows perSecond questions, at least 1.
func NewRates(perSecond int) *Rates {
	return &Rates{every: max(time.Second/time.Duration(perSecond), 1), seed: maphash.MakeSeed()}
}

// Burst is how many questions an address may ask at once after asking none for Window.
func (r *Rates) Burst() int { return int(burst / r.every) }

// Window is how long it takes until an allowance that was spent is whole.
func (r *Rates) Window() time.Duration { return burst }

// Take takes one question of addr, or says how long to wait for the next one. Refused ones cost nothing.
func (r *Rates) Take(addr netip.Addr, now time.Time) (wait time.Duration) {
	addr = Of(addr)
	s := &r.each[maphash.Comparable(r.seed, addr)%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	wholeAt, wait := spend(now, s.wholeAt(addr), r.every)
	if wait == 0 {
		s.put(addr, wholeAt, now)
	}
	return wait
}

// spend takes every from an allowance that is whole at wholeAt, or says how long that is not possible.
func spend(now, wholeAt time.Time, every time.Duration) (next time.Time, wait time.Duration) {
	if wholeAt.Before(now) {
		wholeAt = now
	}
	next = wholeAt.Add(every)
	return next, max(next.Sub(now)-burst, 0)
}

// recent are addresses with less than their whole allowance, in two generations. An address that is forgotten has
// all of it again, which after burst is so anyhow: only one who comes from more than maxRecent addresses within that
// time makes others be forgotten, and gains nothing by it that the many addresses did not give already.
type recent struct {
	mu         sync.Mutex
	young, old map[netip.Addr]time.Time
	since      time.Time // when young was begun
}

func (s *recent) wholeAt(addr netip.Addr) time.Time {
	if at, ok := s.young[addr]; ok {
		return at
	}
	return s.old[addr]
}

func (s *recent) put(addr netip.Addr, wholeAt, now time.Time) {
	if s.young == nil || len(s.young) >= maxRecent || now.Sub(s.since) >= burst {
		s.old, s.young, s.since = s.young, make(map[netip.Addr]time.Time), now
	}
	s.young[addr] = wholeAt
}
