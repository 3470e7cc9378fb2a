package aggregate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"rankgate/rankcore"
)

const (
	// ownWithin bounds a reading of the shards where whoever asks for it has all the time in the world.
	ownWithin = time.Second
	// dueWithin is how long a reading is waited for that is not due yet. What is due later comes too late for a reader.
	dueWithin = 100 * time.Millisecond
	// unknownSharing is how many gateways there are taken to be before the core has told.
	unknownSharing = 10
)

// Progress tells how far the applier of a board is, and when that was heard.
type Progress interface {
	Progress(id rankcore.BoardID) (p rankcore.Progress, heard time.Time, ok bool)
}

// own are the first rows of a season as this process reads them itself while the core is no help: one reading at a time
// for all who ask.
type own struct {
	mu     sync.Mutex  // guards what follows. Never held while reading
	newest *ownReading // that came to something
	next   *ownReading // under way
	failed time.Time   // when the last one began that did not
}

// ownReading is one reading. Page and err are set when done is closed.
type ownReading struct {
	began   time.Time
	current time.Time // what was read has everything that the log had then; zero: not known
	done    chan struct{}
	page    *rankcore.Page
	err     error
}

// share is the time from one own reading to the next: while the core is no help, all gateways together make as many as
// half of those that it would, so that the shards are not read more often the more gateways there are. The other half is
// the core's, which is late and may read all the same.
func (c *Client) share(b *asked) time.Duration {
	sharing := b.sharing.Load()
	if sharing == 0 {
		sharing = unknownSharing
	}
	return 2 * c.every * time.Duration(sharing)
}

// errNotDue: the shards may not be read yet. It tells nothing of them.
var errNotDue = fmt.Errorf("the next reading is not due: %w", rankcore.ErrBusy)

// own answers from rows that this process has read itself: from a reading that begins now, where one is due, or from the
// last, which says how old it is. Where that is too old it fails, and whoever asks has an answer from before, or none.
func (c *Client) own(ctx context.Context, b *asked, q rankcore.TopQuery) (*rankcore.Page, error) {
	o := b.ownOf(q.Season)
	for {
		r, mine, due := c.join(ctx, b, o, q)
		if r == nil {
			return nil, &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: errNotDue}
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if wait := time.Until(due); !mine && r.began.Before(q.Since) && wait < dueWithin {
			select {
			case <-time.After(wait):
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if r.err != nil {
			return nil, r.err
		}
		if mine {
			return r.rows(q, r.page.Meta), nil
		}
		m, err := c.later(b, r, q)
		if err != nil {
			return nil, err
		}
		return r.rows(q, m), nil
	}
}

// later is what a reading's rows may be called when they are given to somebody who asked after it began.
func (c *Client) later(b *asked, r *ownReading, q rankcore.TopQuery) (rankcore.Meta, error) {
	m, now, bound := r.page.Meta, time.Now(), q.Board.Freshness
	p, heard, ok := c.heard(q.Board.ID)
	switch {
	case r.began.Before(q.Since) || m.AsOf.Before(b.lastSeen(q.Season)):
	case m.Status != rankcore.Fresh:
		return m, nil
	case now.Sub(r.current) <= bound:
		m.Current = r.current
		return m, nil
	case (!ok || now.Sub(heard) > bound) && now.Sub(r.began) <= bound:
		m.Status, m.Reason = rankcore.Stale, rankcore.LogUnreachable
		return m, nil
	}
	reason := rankcore.CoreSlow
	if p.ShardsOut > 0 {
		reason = rankcore.ShardRebuilding
	}
	return m, &rankcore.Unavailable{Reason: reason, Cause: errNotDue}
}

func (c *Client) heard(id rankcore.BoardID) (p rankcore.Progress, heard time.Time, ok bool) {
	if c.progress == nil {
		return p, heard, false
	}
	return c.progress.Progress(id)
}

// join returns the reading to be answered from, whether it is the caller's, and when the next one is due; no reading
// where there is none yet.
func (c *Client) join(ctx context.Context, b *asked, o *own, q rankcore.TopQuery) (r *ownReading, mine bool, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.next != nil {
		return o.next, false, o.next.began.Add(c.share(b))
	}
	due = o.failed.Add(c.every) // what has failed is told to nobody else: the shards may be well again
	if o.newest != nil {
		if next := o.newest.began.Add(c.share(b)); next.After(due) {
			due = next
		}
	}
	if now.Before(due) {
		return o.newest, false, due
	}
	r = &ownReading{began: now, done: make(chan struct{})}
	if p, _, ok := c.heard(q.Board.ID); ok && p.ShardsOut == 0 {
		r.current = p.CaughtUp
	}
	o.next = r
	c.metrics.own.Inc()
	give, ok := ctx.Deadline()
	if !ok {
		give = now.Add(ownWithin)
	}
	go func() {
		limited, cancel := context.WithDeadline(context.WithoutCancel(ctx), give)
		defer cancel()
		c.read(limited, b, o, r, q)
	}()
	return r, true, due
}

// read reads the head, as long as its first asker may wait and though it may leave: who joined does not wait longer for
// shards that do not answer.
func (c *Client) read(ctx context.Context, b *asked, o *own, r *ownReading, q rankcore.TopQuery) {
	r.page, r.err = c.Reader.Top(ctx, rankcore.TopQuery{Board: q.Board, Season: q.Season, Limit: q.Board.Head})
	if r.err == nil {
		b.saw(q.Season, r.page.Version, r.page.AsOf)
	}
	o.mu.Lock()
	if o.next = nil; r.err == nil {
		o.newest = r
	} else {
		o.failed = r.began
	}
	o.mu.Unlock()
	close(r.done)
}

// rows are those of the reading that are asked for, called m.
func (r *ownReading) rows(q rankcore.TopQuery, m rankcore.Meta) *rankcore.Page {
	page := &rankcore.Page{Meta: m}
	if rest := r.page.Entries[min(q.Offset, len(r.page.Entries)):]; q.Limit > 0 {
		page.Entries = rest[:min(q.Limit, len(rest))]
	}
	return page
}

// lastSeen is when what was last answered of the season was true.
func (b *asked) lastSeen(season rankcore.SeasonID) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen[season].asOf
}

// ownOf are the season's.
func (b *asked) ownOf(season rankcore.SeasonID) *own {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.own[season]
	if o == nil {
		if len(b.own) >= maxSeen {
			clear(b.own)
		}
		o = &own{}
		b.own[season] = o
	}
	return o
}
