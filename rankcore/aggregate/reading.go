package aggregate

import (
	"context"
	"errors"
	"sync"
	"time"

	"rankgate/rankcore"
)

// reading is a board's first rows as they were read once, ready to be sent.
type reading struct {
	began    time.Time
	changes  uint64    // what the applier had told of when it began
	caughtUp time.Time // the rows have everything the log had then
	meta     rankcore.Meta
	rows     []byte
	ends     []int // of each row in rows
	err      error
}

// readings keep the newest reading of one season and make the next one: one at a time, for all who wait for it, and
// no sooner than every after the one before. Safe for concurrent use.
type readings struct {
	state *boardState
	every time.Duration
	read  func() (*rankcore.Page, error)
	run   func(func()) // runs the making of a reading beside whoever asks

	// mu guards what follows. Never held while reading.
	mu     sync.Mutex
	newest *reading
	next   *making
	asked  time.Time // when somebody last asked
}

// making is a reading that is being made.
type making struct {
	begun *reading // nil: it has not begun
	done  chan struct{}
	made  *reading // once done is closed
}

var errNotWhole = errors.New("not every shard follows the log")

// get returns a reading that has every change the applier has told of, and that began at or after since. Who asks
// while the last one is too old and too young to be followed waits for the next.
func (rs *readings) get(ctx context.Context, since time.Time) (*reading, error) {
	for {
		m, joined, kept := rs.join(since)
		if kept != nil {
			return kept, nil
		}
		select {
		case <-m.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if joined {
			return m.made, m.made.err
		}
	}
}

// join returns the reading that is there, or one being made and whether that will do.
func (rs *readings) join(since time.Time) (m *making, joined bool, kept *reading) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.asked = time.Now()
	changes := rs.state.changed()
	will := func(r *reading) bool { return r.err == nil && r.changes == changes && !r.began.Before(since) }
	if rs.newest != nil && will(rs.newest) {
		return nil, false, rs.newest
	}
	if m = rs.next; m != nil {
		return m, m.begun == nil || will(m.begun), nil
	}
	m = &making{done: make(chan struct{})}
	rs.next = m
	var due time.Time
	if rs.newest != nil {
		due = rs.newest.began.Add(rs.every)
	}
	rs.run(func() { rs.make(m, due) })
	return m, true, nil
}

// make reads when it is due. The reading belongs to nobody: it is made to its end when its first asker leaves.
func (rs *readings) make(m *making, due time.Time) {
	<-time.After(time.Until(due))
	r := &reading{}
	rs.mu.Lock()
	r.began = time.Now()
	progress, changes := rs.state.now()
	r.changes, r.caughtUp = changes, progress.CaughtUp
	m.begun = r
	rs.mu.Unlock()

	made := *r
	if whole(progress) {
		made.fill(rs.read)
	} else {
		made.err = errNotWhole
	}
	rs.mu.Lock()
	rs.newest, rs.next = &made, nil
	m.made = &made
	rs.mu.Unlock()
	close(m.done)
}

func (r *reading) fill(read func() (*rankcore.Page, error)) {
	page, err := read()
	if err == nil && page.Status != rankcore.Fresh {
		err = &rankcore.Unavailable{Reason: page.Reason}
	}
	if err != nil {
		r.err = err
		return
	}
	r.meta = page.Meta
	for _, e := range page.Entries {
		r.rows = appendRow(r.rows, e)
		r.ends = append(r.ends, len(r.rows))
	}
}

// first are the first n rows, fewer where there are no more.
func (r *reading) first(n int) (int, []byte) {
	if n = min(n, len(r.ends)); n == 0 {
		return 0, nil
	}
	return n, r.rows[:r.ends[n-1]]
}
