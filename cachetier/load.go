package cachetier

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"rankgate/rankcore"
)

const (
	flightShards = 16
	maxTries     = 3
)

// flights are the loads under way of a part of the keys.
//
// otter has loads of its own, but its Get loads again whenever its key is evicted meanwhile, for as long
// as that goes on; and it could not tell a load that began before an eviction from one that began after.
type flights struct {
	// mu guards byKey, and the storing of what a flight brought: only the newest flight of a key stores.
	// Never held while asking the source.
	mu    sync.Mutex
	byKey map[key]*flight
}

// flight is one load. Entry and err are set when done is closed.
type flight struct {
	began   uint64
	at      time.Time
	since   time.Time       // of a page: it must be read after this
	origin  rankcore.Origin // for those who wait
	current time.Time       // the answer will have everything the log had at this moment, unless there is
	doubt   rankcore.Reason // a reason to doubt that
	done    chan struct{}
	entry   *entry
	err     error

	next *flight // of the same key, begun while this one was under way; guarded by the flights' mu
}

// fly joins the key's load if it began after everything that must be seen, and else begins one. The load
// belongs to nobody: it goes on when its first caller leaves.
func (t *Tier) fly(a ask, after uint64) *flight {
	shard := &t.flights[maphash.Comparable(t.seed, a.key)%flightShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	now := time.Now()
	if f := shard.byKey[a.key]; f != nil && f.began > max(after, t.barrier(a)) && f.at.After(a.since) && f.reads(a) && f.timely(now, a.key.board.Freshness) {
		return f
	}
	f := &flight{began: t.clock.Add(1), at: now, done: make(chan struct{})}
	f.since = t.readAfter(a)
	a = a.owned()
	if t.has(a) {
		f.origin = rankcore.AskedAgain
	}
	f.current, f.doubt = t.current(a.key.board, f.at)
	if overtaken := shard.byKey[a.key]; overtaken != nil {
		overtaken.next = f
	}
	shard.byKey[a.key] = f
	t.loading.Go(func() { t.load(a, f, shard) })
	return f
}

// reads reports whether what the load brings was read late enough for a.
func (f *flight) reads(a ask) bool { return a.key.user != "" || !f.since.Before(a.since) }

// timely reports whether a question that comes now may be answered by the load. One that takes long while the applier
// stands still would hand on as fresh what the first caller may call so, and this one no more.
func (f *flight) timely(now time.Time, bound time.Duration) bool {
	return f.doubt != "" || now.Sub(f.current) <= bound
}

func (t *Tier) load(a ask, f *flight, shard *flights) {
	question := a
	question.since = f.since
	page, standing, err := t.read(question)
	t.metrics.loadSeconds.Observe(time.Since(f.at).Seconds())
	if err != nil {
		f.err = err
	} else {
		f.entry = newEntry(f, a.key.board.Freshness, page, standing)
	}
	shard.mu.Lock()
	if shard.byKey[a.key] == f {
		delete(shard.byKey, a.key)
		if err == nil && !a.exact() {
			t.store(a, f.entry.kept())
		}
	}
	if f.next != nil && err == nil {
		// The next one's answer is what readers get from now on, and it may have been read first.
		f.entry.noLaterThan(f.next.at)
	}
	shard.mu.Unlock()
	close(f.done)
}

// read asks the source within a deadline of its own.
func (t *Tier) read(a ask) (page *rankcore.Page, standing *rankcore.Standing, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil { // on a goroutine of its own it would end the process
			t.log.Error("a load panicked", "board", a.key.board.ID, "panic", p)
			err = &rankcore.Unavailable{Reason: rankcore.CoreDown, Cause: fmt.Errorf("panic: %v", p)}
		}
	}()
	page, standing, err = a.of(ctx, t.source)
	if page != nil {
		page = t.pageAbove(a.key.board.ID, page)
	}
	if standing != nil {
		standing = t.standingAbove(a.key.board.ID, standing)
	}
	if err != nil && !errors.Is(err, rankcore.ErrUnavailable) {
		err = &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: err} // the load's deadline is not the caller's
	}
	return page, standing, err
}

// store keeps e, unless what is there may still be served and is better: e is not sound and shows nothing newer, or
// is doubted where that is not. It needs the flight shard's lock.
func (t *Tier) store(a ask, e *entry) {
	if kept := t.cached(a, time.Now()); kept != nil && (!e.sound() && !e.asOf().After(kept.asOf()) || e.doubt != "" && kept.doubt == "") {
		return
	}
	keep, other := t.answers, t.absent
	if e.page == nil && e.standing == nil {
		keep, other = t.absent, t.answers
	}
	keep.Set(a.key, e)
	if a.key.user == "" {
		a.stamps.top.Store(&atHand{a.key, e})
	} else {
		other.Invalidate(a.key)
	}
}

// has reports whether there is an entry, be it one that may not be served.
func (t *Tier) has(a ask) bool {
	_, answer := t.answers.GetIfPresent(a.key)
	if answer || a.key.user == "" {
		return answer
	}
	_, absent := t.absent.GetIfPresent(a.key)
	return absent
}

// refresh begins a load behind the reader when e gets old, or when its page's board has changed.
func (t *Tier) refresh(a ask, e *entry, now time.Time) {
	due := !now.Before(e.stale)
	if !due && a.key.user == "" {
		due = e.sound() && a.stamps.changed.Load() > e.began
	}
	if due && e.claimRefresh(now) {
		t.fly(a, e.began)
	}
}
