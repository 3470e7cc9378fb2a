package cachetier

import (
	"hash/maphash"
	"maps"
	"sync/atomic"
	"time"

	"rankgate/rankcore"
)

// userStripes is how many stamps a board has for its users. Two users of one stripe are evicted together,
// which costs a load now and then; in return evictions need no list of keys and reads need no lock.
const userStripes = 1 << 14

// boardStamps say which loads of a board are too early to be served: those that began at or before a stamp.
type boardStamps struct {
	changed atomic.Uint64 // something changed: pages are refreshed behind their readers
	pages   atomic.Uint64 // pages are not served
	users   atomic.Uint64 // standings are not served
	all     atomic.Uint64 // nothing is served
	forgot  atomic.Int64  // when pages was last raised, or all; set before that; Unix nanoseconds
	floor   atomic.Int64  // nothing older is shown, whatever the source falls back on; Unix nanoseconds
	user    atomic.Pointer[[userStripes]atomic.Uint64]

	top    atomic.Pointer[atHand] // the page stored last; written under the lock of its key's flights
	oldest oldest
}

// Evict takes note of a change. Users it names, all of them included, are not answered from what was loaded
// before; pages are refreshed behind their readers, at most every 100 ms. What was told by hand, which has
// no position, reaches pages at once.
func (t *Tier) Evict(c rankcore.Change) {
	b := (*t.boards.Load())[c.Board]
	if b == nil {
		return // nothing of the board was ever loaded
	}
	if c.Top || c.All && c.To.IsNone() {
		b.forgot.Store(time.Now().UnixNano())
	}
	stamp := t.clock.Add(1)
	if c.All {
		raise(&b.users, stamp)
	}
	if c.Top || c.All && c.To.IsNone() {
		raise(&b.pages, stamp)
	}
	for _, u := range c.Users {
		raise(t.stripe(b, u), stamp)
	}
	raise(&b.changed, stamp)
	t.metrics.invalidated(c)
}

// Suspect has everything re-read before it is served again.
func (t *Tier) Suspect() {
	t.suspected.Store(time.Now().UnixNano())
	raise(&t.suspect, t.clock.Add(1))
	t.metrics.suspects.Inc()
}

// barrier is the newest stamp that concerns a: a load that began at or before it must not answer a.
func (t *Tier) barrier(a ask) uint64 {
	b := a.stamps
	newest := max(t.suspect.Load(), b.all.Load())
	if a.key.user == "" {
		return max(newest, b.pages.Load())
	}
	newest = max(newest, b.users.Load())
	if user := b.user.Load(); user != nil {
		newest = max(newest, user[t.stripeOf(a.key.user)].Load())
	}
	return newest
}

// readAfter is since when what answers a page must have been read: a source may have rows that it read earlier. What
// only changed does not count, as such a source knows of it before anybody is told.
func (t *Tier) readAfter(a ask) time.Time {
	if a.key.user != "" {
		return a.since
	}
	newest := max(t.suspected.Load(), a.stamps.forgot.Load())
	if newest == 0 {
		return a.since
	}
	return later(a.since, time.Unix(0, newest))
}

// stamps are the board's, made when it is first asked about. Boards are few and configured.
func (t *Tier) stamps(board rankcore.BoardID) *boardStamps {
	if b := (*t.boards.Load())[board]; b != nil {
		return b
	}
	t.adding.Lock()
	defer t.adding.Unlock()
	boards := maps.Clone(*t.boards.Load())
	if boards[board] == nil {
		boards[board] = &boardStamps{}
		t.boards.Store(&boards)
	}
	return boards[board]
}

// stripe is the user's stamp. The stamps of a board's users, 128 KiB, are made for its first eviction.
func (t *Tier) stripe(b *boardStamps, u rankcore.UserID) *atomic.Uint64 {
	if b.user.Load() == nil {
		b.user.CompareAndSwap(nil, new([userStripes]atomic.Uint64))
	}
	return &b.user.Load()[t.stripeOf(u)]
}

func (t *Tier) stripeOf(u rankcore.UserID) uint64 {
	return maphash.String(t.seed, string(u)) % userStripes
}

// raise sets stamp to at least to.
func raise(stamp *atomic.Uint64, to uint64) {
	for {
		old := stamp.Load()
		if old >= to || stamp.CompareAndSwap(old, to) {
			return
		}
	}
}
