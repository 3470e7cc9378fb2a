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

// feed reads a session ahead of whoever applies it: while one run is applied, the next gathers, and ends when it can be
// applied or is large. A run that comes out of it belongs to one session and was complete before it was checked.
type feed struct {
	links   uint64 // reconnects when the session was opened
	reader  *reader
	lookout lookout

	busy  atomic.Bool   // the last run is still being applied
	pace  atomic.Int64  // nanoseconds from one run to the next, as long as they are small; see Applier.rest
	freed chan struct{} // wakes a feed that gathers
	given time.Time     // when the last run was given

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
		freed: make(chan struct{}, 1), out: make(chan fed), cancel: cancel, done: make(chan struct{}),
	}
	go func() {
		defer close(f.done)
		defer ss.close()
		for {
			item := f.read(ctx, ss, prev, limit)
			if item.run != nil {
				f.busy.Store(true)
			}
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

// applied says that the run given last has been applied, and how long after it the next may be given, unless it is large.
func (f *feed) applied(pace time.Duration) {
	f.pace.Store(int64(pace))
	f.busy.Store(false)
	select {
	case f.freed <- struct{}{}:
	default:
	}
}

// gather waits until another message has arrived that belongs to the run, and reports whether one has: not when the run
// is due. The first run after a silence is due at once.
func (f *feed) gather(ctx context.Context, ss *session) bool {
	for !ss.ready() {
		busy, wait := f.busy.Load(), time.Until(f.given.Add(time.Duration(f.pace.Load())))
		switch {
		case busy: // until it is not, nobody knows when the next run is due
			wait = 0
		case wait <= 0:
			return false
		}
		if !ss.arrival(ctx, wait, f.freed) {
			return false
		}
	}
	return true
}

// read makes the next item: it waits for a first message and takes what else arrives until the run is due or large.
func (f *feed) read(ctx context.Context, ss *session, prev, limit rankcore.Position) fed {
	var item fed
	r := f.reader.begin(prev)
	for size := 0; size < maxRunBytes && !item.limit && (len(r.names) == 0 || f.gather(ctx, ss)); {
		e, err := ss.one(ctx)
		if err != nil {
			return fed{err: err}
		}
		if e == nil {
			if len(r.names) == 0 {
				break
			}
			continue // what has ended is only a request to the server
		}
		if !limit.IsNone() && e.Seq >= limit.Seq {
			if e.Position != limit {
				return fed{err: errBranch}
			}
			item.limit = true
		}
		f.reader.add(r, e)
		size += len(e.data)
		item.lag = e.pending
	}
	if err := ss.same(ctx, prev, r.names); err != nil {
		return fed{err: err}
	}
	if len(r.names) > 0 {
		f.reader.sort(r)
		item.run, prev = r, r.to
	}
	if err := f.lookout.report(ctx, &item, prev); err != nil {
		return fed{err: err}
	}
	return item
}
