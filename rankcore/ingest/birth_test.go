package ingest

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A board added to a log that has long dropped its first messages starts empty; it is not to be rebuilt (R7).
func TestNewBoardOnAnOldLog(t *testing.T) {
	r := newRig(t)
	old := testBoard("old", 2)
	l, stop := r.runLog(nil, old)
	for i := range 10 {
		mustAppend(t, l, old, add("", "alice", int64(i)))
	}
	st, err := l.stream.js.Stream(t.Context(), StreamName)
	if err == nil {
		err = st.Purge(t.Context(), jetstream.WithPurgeSequence(8))
	}
	if err != nil {
		t.Fatal(err)
	}
	stop()
	young := testBoard("young", 4)
	l, stop = r.runLog(nil, old, young)
	mustAppend(t, l, young, add("1", "alice", 5)) // before any applier
	m := newModel(young)
	a, stopApplier := r.runApplier(l, young, m)
	m.scored(t, map[string]int64{"alice": 5})
	settled(t, a, l.stream)
	stopApplier()
	stop()

	// Once the log has dropped messages of the board itself, an empty shard is to be rebuilt as ever.
	l, _ = r.runLog(nil, old, young)
	for range 5 {
		mustAppend(t, l, young, add("", "bob", 1))
	}
	v, err := l.stream.look(t.Context())
	if err == nil {
		err = st.Purge(t.Context(), jetstream.WithPurgeSequence(v.last))
	}
	if err != nil {
		t.Fatal(err)
	}
	a, _ = r.runApplier(l, young, newModel(young))
	eventually(t, func() string {
		if a.Status().Rebuild != young.Shards {
			return "an emptied board is fed over a gap"
		}
		return ""
	})
}
