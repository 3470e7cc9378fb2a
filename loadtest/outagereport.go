package loadtest

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// OutageReport is what Outage found. Its JSON form is stable.
type OutageReport struct {
	Runs []*OutageRun `json:"runs"`
}

// OutageRun is how readers fared in one outage. Times are in seconds from the load's beginning, rates are a second.
type OutageRun struct {
	Redis      string         `json:"redis"` // silent or dead
	Capacity   float64        `json:"capacity"`
	Rate       float64        `json:"rate"` // of the load
	Away       float64        `json:"away"`
	Back       float64        `json:"back"`
	Share      float64        `json:"share"`
	Within     float64        `json:"within"`
	Before     OutageSecond   `json:"before"`    // the mean, without the first second
	Recovered  *float64       `json:"recovered"` // after Back; nil: not in time
	After      OutageSecond   `json:"after"`     // the mean of the seconds from then on
	LateStarts int64          `json:"late_starts"`
	Seconds    []OutageSecond `json:"seconds"`
	Violations []string       `json:"violations"`
}

// OutageSecond is what became of the questions that were meant to be asked in one second.
type OutageSecond struct {
	Asked      int `json:"asked"`
	Fresh      int `json:"fresh"`    // within a second
	Shown      int `json:"shown"`    // a rank, however old, within a second: fresh ones too
	Updating   int `json:"updating"` // within a second
	Late       int `json:"late"`     // an answer after more than a second, or never asked because all readers waited so long
	Unanswered int `json:"unanswered"`
}

// overSeconds is over how many seconds a rate is taken.
const overSeconds = 3

// judge looks at the seconds that are over: what came before the outage, and whether as much has come after it.
func (r *OutageRun) judge(seconds []OutageSecond, over int) {
	r.Seconds = seconds[:max(min(over, len(seconds)), 0)]
	before := int(r.Away)
	if len(r.Seconds) < before {
		return
	}
	r.Before = mean(r.Seconds[1:before])
	for at := int(math.Ceil(r.Back)); at+overSeconds <= len(r.Seconds); at++ {
		if after := float64(at) - r.Back; after > r.Within {
			return
		} else if m := mean(r.Seconds[at : at+overSeconds]); m.Fresh > 0 && float64(m.Fresh) >= r.Share*float64(r.Before.Fresh) {
			r.Recovered, r.After = &after, m
			return
		}
	}
}

func mean(seconds []OutageSecond) (m OutageSecond) {
	n := len(seconds)
	for _, s := range seconds {
		m.Asked, m.Fresh, m.Shown = m.Asked+s.Asked, m.Fresh+s.Fresh, m.Shown+s.Shown
		m.Updating, m.Late, m.Unanswered = m.Updating+s.Updating, m.Late+s.Late, m.Unanswered+s.Unanswered
	}
	return OutageSecond{m.Asked / n, m.Fresh / n, m.Shown / n, m.Updating / n, m.Late / n, m.Unanswered / n}
}

// leastHeld is the share of what can be answered that readers must get of too much load already before the outage.
const leastHeld = 0.5

// Collapsed reports whether the load alone took most answers away. To get as few of them again proves nothing.
func (r *OutageRun) Collapsed() bool { return float64(r.Before.Fresh) < leastHeld*r.Capacity }

// Right reports whether nothing was wrong, and readers got their answers again in time.
func (r *OutageRun) Right() bool {
	return len(r.Violations) == 0 && r.Recovered != nil && !r.Collapsed()
}

// Right reports whether every run was.
func (r *OutageReport) Right() bool {
	return !slices.ContainsFunc(r.Runs, func(run *OutageRun) bool { return !run.Right() })
}

// WriteText writes the run's report for people.
func (r *OutageRun) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "Redis %s from %.1f s to %.1f s, %.0f ranks asked for a second where %.0f can be answered; %d started late\n",
		r.Redis, r.Away, r.Back, r.Rate, r.Capacity, r.LateStarts)
	fmt.Fprintf(w, "  second   asked   fresh  older  updating   late  unanswered\n")
	for i, s := range r.Seconds {
		fmt.Fprintf(w, "  %6d  %6d  %6d %6d  %8d %6d  %10d\n", i, s.Asked, s.Fresh, s.Shown-s.Fresh, s.Updating, s.Late, s.Unanswered)
	}
	for _, v := range r.Violations {
		fmt.Fprintf(w, "  WRONG  %s\n", v)
	}
	if r.Collapsed() {
		fmt.Fprintf(w, "  COLLAPSED BEFORE: the load alone left %d fresh answers a second of %.0f\n", r.Before.Fresh, r.Capacity)
	}
	if r.Recovered == nil {
		_, err := fmt.Fprintf(w, "  NOT RECOVERED: fewer than %.0f %% of the %d fresh answers a second of before, %.0f s after\n", 100*r.Share, r.Before.Fresh, r.Within)
		return err
	}
	_, err := fmt.Fprintf(w, "  %.1f s after Redis was back: %d fresh answers a second, %d before; %d ranks shown, %d before\n",
		*r.Recovered, r.After.Fresh, r.Before.Fresh, r.After.Shown, r.Before.Shown)
	return err
}

// WriteText writes a line for all runs; each has told its own.
func (r *OutageReport) WriteText(w io.Writer) error {
	verdict := "readers got their answers again in time"
	if !r.Right() {
		verdict = "something was wrong"
	}
	_, err := fmt.Fprintf(w, "%d outages: %s\n", len(r.Runs), verdict)
	return err
}
