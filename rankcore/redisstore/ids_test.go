package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// TestHorizonChanges: ids stay known when a board is given another horizon, as far as both reach, and are forgotten.
func TestHorizonChanges(t *testing.T) {
	server := servers.Redis(t)
	for name, horizons := range map[rankcore.BoardID][2]time.Duration{
		"longer":  {10 * time.Minute, 17 * time.Hour},
		"shorter": {17 * time.Hour, 10 * time.Minute},
	} {
		t.Run(string(name), func(t *testing.T) {
			b := oneShard(name)
			b.Dedupe = horizons[0]
			w := newWriter(t, open(t, server.URL), b)
			once, other := rankcore.Op{ID: "1", User: "abe", Value: 5}, rankcore.Op{ID: "1", User: "abe", Value: 6}
			zero := rankcore.Op{ID: "2", User: "abe"}
			w.write(once, zero)
			changed := *b
			changed.Dedupe = horizons[1]
			w.board, w.later = &changed, 8*time.Minute
			expect := func(want rankcore.Outcome, op rankcore.Op) {
				t.Helper()
				if r := w.step(w.steps(op)[0]); r.State != rankcore.StepApplied || r.Outcomes[0] != want {
					t.Errorf("%v: %+v, want %v", op, r, want)
				} else {
					w.at = r.At
				}
			}
			expect(rankcore.Duplicate, once)
			expect(rankcore.Conflict, other)
			expect(rankcore.Duplicate, zero)
			want := []rankcore.Outcome{rankcore.Applied, rankcore.Conflict, rankcore.Unchanged}
			for i, op := range []rankcore.Op{once, other, zero} {
				if got, err := w.store.Outcomes(t.Context(), &changed, []rankcore.Op{op}); err != nil || got[0] != want[i] {
					t.Errorf("outcome of %v: %v, %v, want %v", op, got, err, want[i])
				}
			}
			w.later = 30 * time.Hour
			w.write(rankcore.Op{ID: "3", User: "abe", Value: 1})
			buckets := 0
			for _, name := range keysOf(server, &changed, 0) {
				if strings.Contains(name, ":ids:") {
					buckets++
				}
			}
			if buckets != 1 {
				t.Errorf("%d buckets of ids are left, want that of the last one: %v", buckets, keysOf(server, &changed, 0))
			}
		})
	}
}
