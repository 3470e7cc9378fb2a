package loadtest

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// ChaosReport is what Chaos found. Its JSON form is stable.
type ChaosReport struct {
	Runs []TrialReport `json:"runs"`
}

// TrialReport is what one run of a scenario found.
type TrialReport struct {
	Scenario   string         `json:"scenario"`
	Seed       uint64         `json:"seed"`
	Faults     map[string]int `json:"faults"`
	Acked      int64          `json:"acknowledged"`     // operations
	Lost       int64          `json:"lost_with_log"`    // of these, lost with the log's tail, as they may be
	Retries    int64          `json:"batches_retried"`  // sent again after no or an unsure answer
	Answers    int64          `json:"answers_watched"`  // while things failed
	Unanswered int64          `json:"reads_unanswered"` // while nobody was there
	Violations []string       `json:"violations"`       // wrong answers on the way
	Settled    float64        `json:"settled_seconds"`  // from the last write to boards without differences
	Different  []string       `json:"differences"`      // between the boards and the oracle at the end
	Still      *StillReport   `json:"still,omitempty"`  // of the reads scenarios
}

// Right reports whether the run found nothing wrong.
func (r *TrialReport) Right() bool { return len(r.Violations)+len(r.Different) == 0 }

// Right reports whether no run found anything wrong.
func (r *ChaosReport) Right() bool {
	return !slices.ContainsFunc(r.Runs, func(t TrialReport) bool { return !t.Right() })
}

// WriteText writes the run's report for people.
func (r *TrialReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "scenario %s, seed %d: %d operations acknowledged, %d batches sent again, %d answers watched, %d reads while nobody was there\n",
		r.Scenario, r.Seed, r.Acked, r.Retries, r.Answers, r.Unanswered)
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(w, "  %3d x %s\n", r.Faults[name], name)
	}
	if r.Lost > 0 {
		fmt.Fprintf(w, "  %d operations were lost with the log's tail before a shard had them, and the loss was told\n", r.Lost)
	}
	if r.Still != nil {
		r.Still.writeText(w)
	}
	for _, v := range r.Violations {
		fmt.Fprintf(w, "  WRONG ON THE WAY  %s\n", v)
	}
	for _, d := range r.Different {
		fmt.Fprintf(w, "  WRONG AT THE END  %s\n", d)
	}
	verdict := fmt.Sprintf("right %.1f s after the last write: nothing lost, nothing doubled", r.Settled)
	if !r.Right() {
		verdict = fmt.Sprintf("%d wrong answers on the way, %d differences at the end; the same again: --scenario %s --seed %d",
			len(r.Violations), len(r.Different), r.Scenario, r.Seed)
	}
	_, err := fmt.Fprintf(w, "  %s\n", verdict)
	return err
}

// WriteText writes the sum of the runs for people; each run has told its own.
func (r *ChaosReport) WriteText(w io.Writer) error {
	var acked int64
	var slowest float64
	right := 0
	for i := range r.Runs {
		run := &r.Runs[i]
		acked, slowest = acked+run.Acked, max(slowest, run.Settled)
		if run.Right() {
			right++
		}
	}
	_, err := fmt.Fprintf(w, "%d of %d runs right, %d operations in all, settled within %.1f s of the last write\n",
		right, len(r.Runs), acked, slowest)
	return err
}
