package loadtest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// filledFor is how long after the filling of a board rows that were read before its end may stand in for a shard.
const filledFor = 3 * time.Second

// beginStill fills the still board, where there is one, and notes what the gateway takes while all is well.
func (t *trial) beginStill(ctx context.Context) error {
	if t.still == nil {
		return nil
	}
	filling, cancel := context.WithTimeout(ctx, comesBack)
	defer cancel()
	if err := fillStill(filling, t.client, t.still.board); err != nil {
		return err
	}
	written := time.Now()
	t.rig.await("a snapshot of the board", func() error {
		if asOf := t.rig.gates[0].metric("rankgate_degrade_snapshot_as_of_timestamp_seconds", string(t.still.board.ID)); asOf < float64(written.UnixMilli())/1e3 {
			return fmt.Errorf("the last is as of %.3f", asOf)
		}
		return nil
	})
	t.wait(ctx, filledFor)
	for range 400 { // what a gateway opens when it is asked, it has opened, and it has heard of every shard
		_, _ = t.still.rank(ctx, t.rng.IntN(stillUsers))
	}
	var all footprint
	t.before, all = t.rig.footprints()
	t.report.Still.Goroutines[0], t.report.Still.Files[0] = all.goroutines, all.files
	return nil
}

// heal waits until the still board is fresh again after a fault, and notes how long that took at most.
func (t *trial) heal(ctx context.Context, fault string) {
	if t.still == nil {
		return
	}
	took, ok := t.still.recovered(ctx, t.say)
	if !ok && ctx.Err() == nil {
		t.report.Violations = append(t.report.Violations, fmt.Sprintf("%s: not fresh %v after its end", fault, took.Round(time.Second)))
	}
	r := t.report.Still
	r.Recovery[fault] = max(r.Recovery[fault], took.Seconds())
}

// endStill sums up what the readers of the still board saw.
func (t *trial) endStill() {
	if t.still == nil {
		return
	}
	r := t.report.Still
	t.still.report(r)
	t.report.Violations = append(t.report.Violations, t.still.violations...)
	t.report.Unanswered += t.still.unanswered
	all, wrong := t.rig.returns(t.before)
	r.Goroutines[1], r.Files[1] = all.goroutines, all.files
	if wrong != "" {
		t.report.Violations = append(t.report.Violations, wrong)
	}
}

// writeText writes the report for people. Times are of this machine, which the servers, the load and the faults share.
func (r *StillReport) writeText(w io.Writer) {
	var total int64
	for _, n := range r.Answers {
		total += n
	}
	fmt.Fprintf(w, "  a board that stood still:")
	for _, status := range slices.Sorted(maps.Keys(r.Answers)) {
		fmt.Fprintf(w, " %s %.1f %%", status, 100*float64(r.Answers[status])/float64(total))
	}
	fmt.Fprintf(w, " of %d answers\n  p99 %.1f ms of what is cached, %.1f ms of what is not\n", total, r.CachedP99, r.UncachedP99)
	for _, name := range slices.Sorted(maps.Keys(r.Recovery)) {
		fmt.Fprintf(w, "  fresh %.2f s after the end of: %s\n", r.Recovery[name], name)
	}
	fmt.Fprintf(w, "  goroutines %.0f before and %.0f after, open files %.0f and %.0f\n", r.Goroutines[0], r.Goroutines[1], r.Files[0], r.Files[1])
}
