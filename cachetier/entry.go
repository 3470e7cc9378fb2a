package cachetier

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
	"unsafe"

	"rankgate/rankcore"
)

const (
	// shortLife is after how long an answer that is not fresh is asked for again: long enough to spare a sick core, too
	// short to matter. That is done behind its readers, as with a fresh one, for graceLife: while the core is found
	// out to be silent, or tried again, nobody waits for it whose answer is known anyway.
	shortLife = 100 * time.Millisecond
	graceLife = time.Second

	// refreshPace is the shortest time between two refreshes of one key, however often its board changes.
	refreshPace = 100 * time.Millisecond
)

// entry is an answer as it was loaded. With neither page nor standing, the user is not ranked. What the answer
// says of itself is settled here, by what was known when its load began: that the shards became current later
// does not make it so, and an applier that falls behind later does not take from it what it has.
type entry struct {
	began    uint64    // the load's place in the Tier's order
	at       time.Time // what it shows was read after this
	page     *rankcore.Page
	standing *rankcore.Standing

	doubt rankcore.Reason // why the shards were not known to be current, or empty
	stale time.Time       // from here on a reader starts a refresh
	until time.Time       // from here on it is not served

	nextRefresh atomic.Int64 // none starts before; Unix nanoseconds
}

// newEntry is what the load brought. It lives for the bound, counted from the moment up to which it has everything: so
// that an answer called fresh has every write that the log took more than a bound before.
func newEntry(f *flight, bound time.Duration, page *rankcore.Page, standing *rankcore.Standing) *entry {
	e := &entry{began: f.began, at: f.at, page: page, standing: standing, doubt: f.doubt}
	if e.sound() {
		current := f.current
		if standing != nil && standing.AsOf.Before(current) {
			current = standing.AsOf // an estimate may come from counts that are older than its load
		}
		if page != nil { // it may come from rows that were read for others before, after what this load had to have
			e.at = earlier(e.at, later(page.AsOf, f.since.Add(1)))
			if !page.Current.IsZero() {
				current = earlier(current, page.Current)
			}
		}
		e.until = current.Add(bound)
		// Keys loaded together do not stay together: half the bound, and up to an eighth of it more.
		e.stale = current.Add(bound/2 + rand.N(bound/8+1))
	} else {
		e.stale = time.Now().Add(shortLife)
		e.until = e.stale
		if !e.asOf().IsZero() { // with nothing to show it is better to wait
			e.until = e.until.Add(graceLife)
		}
	}
	e.say(func(m rankcore.Meta) rankcore.Meta {
		m = doubted(m, e.doubt)
		m.Origin = f.origin
		return m
	})
	e.nextRefresh.Store(f.at.Add(min(refreshPace, bound/4)).UnixNano())
	return e
}

// timely reports whether what came for a question at now may be called what it is. Rows that were read before their
// load may be too old for one that joined it.
func (e *entry) timely(now time.Time) bool { return !e.sound() || e.doubt != "" || !now.After(e.until) }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// kept is the entry as it is remembered: who finds it there did not wait for it.
func (e *entry) kept() *entry {
	k := &entry{began: e.began, at: e.at, page: e.page, standing: e.standing, doubt: e.doubt, stale: e.stale, until: e.until}
	k.say(func(m rankcore.Meta) rankcore.Meta {
		m.Origin = rankcore.FromMemory
		return m
	})
	k.nextRefresh.Store(e.nextRefresh.Load())
	return k
}

// say changes what the answer says of itself, in a copy: answers are shared.
func (e *entry) say(change func(rankcore.Meta) rankcore.Meta) {
	switch {
	case e.page != nil:
		e.page = e.page.With(change(e.page.Meta))
	case e.standing != nil:
		e.standing = e.standing.With(change(e.standing.Meta))
	}
}

// noLaterThan makes the as_of of an answer that is not kept at most t: what it has may be newer than it says, not older.
func (e *entry) noLaterThan(t time.Time) {
	e.say(func(m rankcore.Meta) rankcore.Meta {
		if m.AsOf.After(t) {
			m.AsOf = t
		}
		return m
	})
}

// asOf is when what the entry shows was true; zero where it shows nothing.
func (e *entry) asOf() time.Time {
	switch {
	case e.page != nil && e.page.Status != rankcore.Updating:
		return e.page.AsOf
	case e.standing != nil && e.standing.Status != rankcore.Updating:
		return e.standing.AsOf
	default:
		return time.Time{}
	}
}

// sound reports whether the source called the answer fresh. That a user is not ranked always is.
func (e *entry) sound() bool {
	switch {
	case e.page != nil:
		return e.page.Status == rankcore.Fresh
	case e.standing != nil:
		return e.standing.Status == rankcore.Fresh
	default:
		return true
	}
}

// claimRefresh reports whether the caller is the one to refresh the entry now.
func (e *entry) claimRefresh(now time.Time) bool {
	next := e.nextRefresh.Load()
	return now.UnixNano() >= next && e.nextRefresh.CompareAndSwap(next, now.Add(refreshPace).UnixNano())
}

// left is how long the entry may still be served. Otter takes a positive time.
func (e *entry) left() time.Duration { return max(time.Until(e.until), time.Millisecond) }

// weigh is roughly what an entry costs in memory, in bytes, key included, and the form that its answer will have.
func weigh(k key, e *entry) uint32 {
	const (
		perEntry = unsafe.Sizeof(entry{}) + 2*unsafe.Sizeof(key{}) + 64 // measured: the cache's own node and its table included
		rounding = 8                                                    // what an allocation takes beyond its size, on average
	)
	n := int(perEntry) + len(k.user) + len(k.season)
	if e.page != nil {
		n += int(unsafe.Sizeof(*e.page)) + len(e.page.Entries)*int(unsafe.Sizeof(rankcore.Entry{})+rounding) + e.page.FormBytes()
		for i := range e.page.Entries {
			n += len(e.page.Entries[i].User)
		}
	}
	if e.standing != nil {
		n += int(unsafe.Sizeof(*e.standing)) + len(e.standing.User) + rounding + e.standing.FormBytes()
	}
	return uint32(n)
}
