package ingest

import (
	"context"
	"sync/atomic"
	"time"

	"rankgate/rankcore"
)

// fed is what a feed gives: a run, or only the news that there is nothing more, or why it ended.
type fed struct {
	run   *run      // nil: nothing was there
	end   bool      // the log has nothing more
	asOf  time.Time // with this item, everything the log had at this moment is read; zero: not known
	lag   uint64    // messages behind the run
	limit bool      // the feed's limit was met; it has ended
	err   error
}

// feed reads a session ahead of whoever applies it: while one run is applied, the next is read, parsed and
// placed. A run that comes out of it belongs to one session and was complete before it was checked.
type feed struct {
	links   uint64 // reconnects when the session was opened
	reader  *reader
	lookout lookout
	pace    atomic.Int64 // nanoseconds from one run to the next, as long as they are small; see Applier.rest
	given   time.Time    // when the last run was given

	out    chan fed
	cancel context.CancelFunc
	done   chan struct{}
}

// startFeed takes the session over and closes it in the end. prev is the last message read before it. With a
// limit, the feed ends after the message of that name, and fails with errBranch if the log shows another one
// there or none.
func (a *Applier) startFeed(ctx context.Context, ss *session, prev, limit rankcore.Position) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{
		links: ss.links, reader: newReader(a.board, ss.opened.created), lookout: lookout{stream: a.stream, board: a.board.ID},
		out: make(chan fed), cancel: cancel, done: make(chan struct{}),
	}
	go func() {
		defer close(f.done)
		defer ss.close()
		for {
			item := f.read(ctx, ss, prev, limit)
			select {
			case f.out <- item:
			case <-ctx.Done():
				return
			}
			if item.err != nil || item.limit {
				return
			}
			if item.run != nil {
				prev, f.given = item.run.to, time.Now()
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

// gather lets messages arrive until the next run is due or large. The first run after a silence is due at once.
// When the session's request to the server ends meanwhile, nothing more arrives: that costs the pace, at most.
func (f *feed) gather(ctx context.Context, ss *session) {
	wait := time.Until(f.given.Add(time.Duration(f.pace.Load())))
	if wait <= 0 {
		return
	}
	due := time.NewTimer(wait)
	defer due.Stop()
	look := time.NewTicker(gatherLook)
	defer look.Stop()
	for ss.arrived() < maxRunBytes {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			return
		case <-look.C:
		}
	}
}

// gatherLook is how often a feed that gathers looks whether it has enough.
const gatherLook = 5 * time.Millisecond

// read makes the next item: it waits for a first message and takes what else has arrived.
func (f *feed) read(ctx context.Context, ss *session, prev, limit rankcore.Position) fed {
	var entries []entry
	var item fed
	for size := 0; size < maxRunBytes && (len(entries) == 0 || ss.ready()) && !item.limit; {
		e, err := ss.one(ctx)
		if err != nil {
			return fed{err: err}
		}
		if e == nil {
			break
		}
		if !limit.IsNone() && e.Seq >= limit.Seq {
			if e.Position != limit {
				return fed{err: errBranch}
			}
			item.limit = true
		}
		if len(entries) == 0 && !item.limit {
			f.gather(ctx, ss)
		}
		entries = append(entries, *e)
		size += len(e.data)
		item.lag = e.pending
	}
	if err := ss.same(ctx, prev, entries); err != nil {
		return fed{err: err}
	}
	if len(entries) > 0 {
		item.run = f.reader.understand(prev, entries)
		prev = item.run.to
	}
	if err := f.lookout.report(ctx, &item, prev); err != nil {
		return fed{err: err}
	}
	return item
}
