package ingest

import (
	"context"
	"errors"
	"time"

	"rankgate/rankcore"
)

// fed is what a feed gives: a run, or only the news that there is nothing more, or why it ended.
type fed struct {
	run   *run      // nil: nothing was there
	end   bool      // the log had nothing more
	asOf  time.Time // with end: it was so at this moment or later
	lag   uint64    // messages behind the run
	limit bool      // the feed's limit was met; it has ended
	err   error
}

// feed reads a session ahead of whoever applies it: while one run is applied, the next is read, parsed and
// placed. A run that comes out of it belongs to one session and was complete before it was checked.
type feed struct {
	links  uint64 // reconnects when the session was opened
	out    chan fed
	cancel context.CancelFunc
	done   chan struct{}
}

// startFeed takes the session over and closes it in the end. prev is the last message read before it. With a
// limit, the feed ends after the message of that name, and fails with errBranch if the log shows another one
// there or none.
func (a *Applier) startFeed(ctx context.Context, ss *session, prev, limit rankcore.Position) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{links: ss.links, out: make(chan fed), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer ss.close()
		rd := newReader(a.board)
		for {
			item := a.read(ctx, ss, rd, prev, limit)
			select {
			case f.out <- item:
			case <-ctx.Done():
				return
			}
			if item.err != nil || item.limit {
				return
			}
			if item.run != nil {
				prev = item.run.to
			}
		}
	}()
	return f
}

// stop ends the feed and waits for it.
func (f *feed) stop() {
	if f == nil {
		return
	}
	f.cancel()
	<-f.done
}

// read makes the next item: it waits for a first message and takes what else has arrived.
func (a *Applier) read(ctx context.Context, ss *session, rd *reader, prev, limit rankcore.Position) fed {
	var entries []entry
	var item fed
	for size := 0; size < maxRunBytes && (len(entries) == 0 || ss.ready()) && !item.limit; {
		e, err := ss.one(ctx)
		if err != nil {
			return fed{err: err}
		}
		if e == nil {
			item.end, item.asOf = true, ss.asked
			break
		}
		if !limit.IsNone() && e.Seq >= limit.Seq {
			if e.Position != limit {
				return fed{err: errBranch}
			}
			item.limit = true
		}
		entries = append(entries, *e)
		size += len(e.data)
		if item.lag = e.pending; e.pending == 0 && ss.left >= 0 {
			item.end, item.asOf = true, ss.asked
		} else {
			item.end = false
		}
	}
	if err := ss.same(ctx, prev, entries); err != nil {
		return fed{err: err}
	}
	if len(entries) > 0 {
		item.run = rd.understand(prev, entries)
		prev = item.run.to
	}
	if item.end {
		return a.confirmEnd(ctx, prev, item)
	}
	return item
}

// confirmEnd asks the log's leader whether prev is the newest message. The consumer's own word is not enough: it
// may stand on a replica that lags, and right after a restart it was seen to say so thousands of operations early.
func (a *Applier) confirmEnd(ctx context.Context, prev rankcore.Position, item fed) fed {
	asked := time.Now()
	newest, err := a.stream.newest(ctx, a.board.ID)
	if err != nil {
		return fed{err: errors.Join(errSession, err)}
	}
	item.end, item.asOf = newest.Position == prev, asked
	return item
}
