package ingest

import (
	"testing"
	"time"
)

// Retention drops what is old and applied, and nothing else.
func TestTrimKeepsWhatIsNotAppliedEverywhere(t *testing.T) {
	r := newRig(t)
	b, idle := testBoard("power", 1), testBoard("idle", 1)
	running, _ := r.runLog(nil, b, idle)
	var last WritePosition
	for range 5 {
		last = mustAppend(t, running, b, add("", "alice", 1))
	}
	cfg := running.cfg
	cfg.Retention = time.Nanosecond
	l, err := OpenLog(cfg) // not running: it trims when the test says so
	if err != nil {
		t.Fatal(err)
	}
	first := func() uint64 {
		t.Helper()
		l.trim.last = time.Time{}
		v, err := l.stream.look(t.Context())
		if err == nil {
			err = l.trim.trim(t.Context(), v)
		}
		if err == nil {
			v, err = l.stream.look(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return v.first
	}
	l.trim.report(b.ID, pos(last.Seq, 1), true)
	if got := first(); got != 1 {
		t.Errorf("trimmed to %d though one board's applier has said nothing", got)
	}
	l.trim.report(idle.ID, pos(3, 1), true)
	if got := first(); got != 3 {
		t.Errorf("the log begins at %d, want 3, where the slowest shard is", got)
	}
	l.cfg.Retention = time.Hour
	l.trim.report(idle.ID, pos(last.Seq, 1), true)
	if got := first(); got != 3 {
		t.Errorf("the log begins at %d: young messages were dropped", got)
	}
}
