package ingest

import (
	"fmt"
	"testing"

	"rankgate/rankcore"
)

// A log that lost its tail hands the sequences out again: the shards keep what they took in, everything
// appended afterwards counts, and the loss is recorded (R6, R8, R15, R17, R18).
func TestLogThatLostItsTail(t *testing.T) {
	for _, regrown := range []int{0, 3, 40} {
		t.Run(fmt.Sprintf("regrown by %d", regrown), func(t *testing.T) {
			r := newRig(t)
			b := testBoard("power", 8)
			m := newModel(b)
			l, stopLog := r.runLog(nil, b)
			a, stop := r.runApplier(l, b, m)
			want := map[string]int64{}
			fill(t, l, b, "a", 10, want)
			settled(t, a, l.stream)
			stop()
			stopLog()
			older := r.copyOf()
			l, stopLog = r.runLog(nil, b)
			a, stop = r.runApplier(l, b, m)
			fill(t, l, b, "b", 20, want)
			settled(t, a, l.stream)
			stop()
			stopLog()
			r.putBack(older)
			for i := range regrown { // a direct publisher, before anybody notices
				publish(t, r.raw(), b, fmt.Sprintf(`{"v":1,"ops":[{"id":"c%d","user":"user%d","add":1}]}`, i, i%10))
				want[fmt.Sprintf("user%d", i%10)]++
			}
			l, _ = r.runLog(nil, b)
			a, _ = r.runApplier(l, b, m)
			fill(t, l, b, "d", 10, want)
			m.scored(t, want)
			settled(t, a, l.stream)
			eventually(t, func() string {
				if !a.Status().LogLost {
					return "the loss is not told"
				}
				return ""
			})
			eventually(t, func() string { // those without operations too, by the heartbeat
				for s := range b.Shards {
					if !m.copyOf(s).lost {
						return fmt.Sprintf("shard %d is not marked", s)
					}
				}
				return ""
			})
		})
	}
}

// The log goes back in time while everything runs: the applier and the publisher notice by themselves.
func TestLogRolledBackUnderTheApplier(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 8)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	want := map[string]int64{}
	fill(t, l, b, "a", 10, want)
	older := r.copyOf()
	fill(t, l, b, "b", 20, want)
	settled(t, a, l.stream)
	r.putBack(older)
	fill(t, l, b, "c", 30, want)
	m.scored(t, want)
	settled(t, a, l.stream)
	r.putBack("") // and now there is no log at all
	fill(t, l, b, "d", 10, want)
	m.scored(t, want)
	settled(t, a, l.stream)
	if !a.Status().LogLost {
		t.Error("the loss is not told")
	}
}

// Without a single shard that noticed, the publisher still does (R17).
func TestPublisherRecordsWhatTheLogLost(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 1)
	l, _ := r.runLog(nil, b)
	first := mustAppend(t, l, b, add("1", "alice", 1))
	older := r.copyOf()
	mustAppend(t, l, b, add("2", "alice", 1))
	r.putBack(older)
	again := mustAppend(t, l, b, add("3", "alice", 1))
	if again.Since < first.Since {
		t.Errorf("verified at %d, before it was at %d", again.Since, first.Since)
	}
	if n := lostRecords(t, l.stream, b); n != 1 {
		t.Errorf("%d lost records when the next append was confirmed, want 1", n)
	}
}

func TestPublisherTrustsARestartedLog(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 1)
	l, _ := r.runLog(nil, b)
	mustAppend(t, l, b, add("1", "alice", 1))
	r.stop()
	r.start()
	mustAppend(t, l, b, add("2", "alice", 1))
	if n := lostRecords(t, l.stream, b); n != 0 {
		t.Errorf("%d lost records, want none", n)
	}
}

func lostRecords(t *testing.T, s stream, b *rankcore.Board) int {
	t.Helper()
	return logged(t, s, b, func(m rankcore.Message) bool { return m.Mark == rankcore.MarkLost })
}

// logged is how many of the board's messages are such.
func logged(t *testing.T, s stream, b *rankcore.Board, such func(rankcore.Message) bool) int {
	t.Helper()
	ss, err := s.open(t.Context(), b.ID, from{seq: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer ss.close()
	n := 0
	for {
		e, err := ss.one(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return n
		}
		if m, err := rankcore.ParseMessage(b, e.data, e.id, e.At()); err == nil && such(m) {
			n++
		}
	}
}
