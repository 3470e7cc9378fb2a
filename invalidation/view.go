package invalidation

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rankgate/rankcore"
)

// maxReports bounds the sources remembered for one board.
const maxReports = 16

// view is what is known of one board. Reports are replaced, never changed, so that readers need no lock.
type view struct {
	freshness time.Duration
	reports   atomic.Pointer[[]report]
	passages  atomic.Pointer[[]passage] // in the order they were heard

	// mu guards moved, which is closed and replaced with each piece of news about positions.
	mu    sync.Mutex
	moved chan struct{}
}

// report is the newest a source said of the board. Heard is zero until a beacon was believed.
type report struct {
	source   string
	progress rankcore.Progress
	applied  rankcore.Position
	whole    bool // every shard is there
	heard    time.Time
	touched  time.Time
}

func newView(freshness time.Duration) *view {
	v := &view{freshness: freshness, moved: make(chan struct{})}
	v.reports.Store(new([]report))
	v.passages.Store(new([]passage))
	return v
}

// beacon takes over what a source said after the given time. That it had caught up then is a lower bound, and an earlier
// beacon may have shown more: it stays true until the source says that it does not know, or that shards are out.
func (v *view) beacon(source string, p rankcore.Progress, sent time.Time) {
	v.update(source, func(r *report) {
		if last := r.progress.CaughtUp; !p.CaughtUp.IsZero() && last.After(p.CaughtUp) {
			p.CaughtUp = last
		}
		r.progress, r.applied, r.heard, r.whole = p, p.Applied, sent, p.ShardsOut == 0
	})
}

// oldBeacon takes over what stays true of a beacon, whenever it was sent.
func (v *view) oldBeacon(source string, p rankcore.Progress) {
	v.update(source, func(r *report) {
		if r.applied.Seq < p.Applied.Seq {
			r.applied, r.whole = p.Applied, p.ShardsOut == 0
		}
	})
}

// applied takes over the position of a change. A shard that catches up changes at positions long passed;
// only a beacon takes a position back.
func (v *view) applied(source string, to rankcore.Position) {
	v.update(source, func(r *report) {
		if r.applied.Seq < to.Seq {
			r.applied = to
		}
	})
}

// update changes a source's report. Only the Listener's Run calls it.
func (v *view) update(source string, change func(*report)) {
	reports := slices.Clone(*v.reports.Load())
	i := slices.IndexFunc(reports, func(r report) bool { return r.source == source })
	if i < 0 {
		reports = append(reports, report{source: source})
		if len(reports) > maxReports {
			oldest := slices.MinFunc(reports[:maxReports], func(a, b report) int { return a.touched.Compare(b.touched) })
			reports = slices.DeleteFunc(reports, func(r report) bool { return r.source == oldest.source })
		}
		i = len(reports) - 1
	}
	was, now := reports[i], time.Now()
	change(&reports[i])
	is := &reports[i]
	is.touched = now
	v.pass(was.applied, is.applied, is.whole, now)
	v.reports.Store(&reports)
	if is.applied != was.applied || is.whole != was.whole {
		v.mu.Lock()
		close(v.moved)
		v.moved = make(chan struct{})
		v.mu.Unlock()
	}
}

// newest is the best of the reports heard within a freshness bound of the newest one.
func (v *view) newest() (report, bool) {
	reports := *v.reports.Load()
	var newest time.Time
	for i := range reports {
		if reports[i].heard.After(newest) {
			newest = reports[i].heard
		}
	}
	best := -1
	for i := range reports {
		r := &reports[i]
		if r.heard.IsZero() || newest.Sub(r.heard) > v.freshness {
			continue
		}
		if best < 0 || r.better(&reports[best]) {
			best = i
		}
	}
	if best < 0 {
		return report{}, false
	}
	return reports[best], true
}

// better prefers the applier whose shards all follow, then the one that is less behind: any one that keeps
// the shards current is enough.
func (r *report) better(than *report) bool {
	if r.progress.ShardsOut != than.progress.ShardsOut {
		return r.progress.ShardsOut < than.progress.ShardsOut
	}
	return r.progress.CaughtUp.After(than.progress.CaughtUp)
}

// passed reports whether some source is at or beyond at: by sequence, and by time, since after the log lost
// its tail a sequence may be handed out again.
func (v *view) passed(at rankcore.Position) bool {
	return slices.ContainsFunc(*v.reports.Load(), func(r report) bool {
		return r.applied.Seq >= at.Seq && r.applied.Time >= at.Time
	})
}

func (v *view) wait(ctx context.Context, at rankcore.Position) error {
	for {
		v.mu.Lock()
		moved := v.moved
		v.mu.Unlock()
		if v.passed(at) {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
