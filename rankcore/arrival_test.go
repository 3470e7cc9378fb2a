package rankcore_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// What stands later in a log arrives later, whatever its clock says; so does all that a log made anew brings, though it
// counts its messages from 1 again. Where ties share, everything arrives together.
func TestArrivalsFollowTheLog(t *testing.T) {
	first, shared := &rankcore.Board{Ties: rankcore.TiesFirst}, &rankcore.Board{}
	rapid.Check(t, func(rt *rapid.T) {
		made := time.UnixMicro(rapid.Int64Range(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()).Draw(rt, "made"))
		seq, index := rapid.Uint64Range(1, 1<<45).Draw(rt, "sequence"), rapid.IntRange(0, rankcore.MaxOps-1).Draw(rt, "index")
		at := first.Arrival(made, seq, index)
		if next := first.Arrival(made, seq+1, 0); next <= at {
			rt.Fatalf("the next message arrives at %d, not after %d", next, at)
		}
		if before := first.Arrival(made, seq, index-1); index > 0 && before >= at {
			rt.Fatalf("the operation before arrives at %d, not before %d", before, at)
		}
		life := time.Duration(seq) * time.Microsecond // a million messages a second
		if anew := first.Arrival(made.Add(life), 1, 0); anew <= at {
			rt.Fatalf("the log made anew begins at %d, not after %d", anew, at)
		}
		if got := shared.Arrival(made, seq, index); got != 0 {
			rt.Fatalf("where ties share, got %d", got)
		}
	})
}
