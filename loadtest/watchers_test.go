package loadtest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest"
	"rankgate/rankcore"
)

// watch writes to the stub and watches it until both have done enough, and returns what was seen.
func watch(t *testing.T, s *stub) []string {
	t.Helper()
	client := s.client(t)
	ledger := loadtest.NewLedger()
	writers := loadtest.Writers{
		Workload: loadtest.Workload{Board: s.board, Users: 6},
		Sender:   client, Oracle: loadtest.NewOracle(s.board), Ledger: ledger, Count: 2, Batch: 5, Batches: 20,
	}
	watchers := loadtest.Watchers{
		Board: s.board, Reader: client, Ledger: ledger, Probes: 2, Count: 2, Every: time.Millisecond, Bound: time.Microsecond,
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		watchers.Run(ctx)
		close(ended)
	}()
	if err := writers.Run(ctx); err != nil {
		t.Error(err)
	}
	for answers := int64(0); answers < 50; answers, _, _ = watchers.Seen() {
		<-time.After(time.Millisecond)
	}
	cancel()
	<-ended
	_, unanswered, violations := watchers.Seen()
	if unanswered > 0 {
		t.Errorf("%d questions without an answer", unanswered)
	}
	return violations
}

func TestWatchersOfARightServerSeeNothingWrong(t *testing.T) {
	if seen := watch(t, newStub(newBoard())); len(seen) > 0 {
		t.Error(seen)
	}
}

func TestWatchersCatch(t *testing.T) {
	for want, mutate := range map[string]func(*stub){
		"called fresh":      func(s *stub) { s.broken = probesCount(0, 20) },
		"not to be ranked":  func(s *stub) { s.broken = probesCount(0, 0) },
		"ever sent":         func(s *stub) { s.broken = probesCount(3, 0) },
		"answered 503: ill": func(s *stub) { s.ill = true },
		"row 0 has rank": func(s *stub) {
			s.shown = func(rows []rankcore.Entry) {
				if last := len(rows) - 1; last > 0 {
					rows[0], rows[last] = rows[last], rows[0]
				}
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := newStub(newBoard())
			mutate(s)
			if seen := strings.Join(watch(t, s), "\n"); !strings.Contains(seen, want) {
				t.Errorf("not seen in %q", seen)
			}
		})
	}
}

// probesCount makes the operations of probes count so many times, after the first n of all.
func probesCount(times, after int) func(*rankcore.Op, int) int {
	return func(op *rankcore.Op, n int) int {
		if n > after && strings.HasPrefix(string(op.User), "probe-") {
			return times
		}
		return 1
	}
}
