package loadtest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is what a run found. Its JSON form is stable.
type Report struct {
	URL     string       `json:"url"`
	Board   string       `json:"board"`
	Started time.Time    `json:"started"`
	Seconds float64      `json:"seconds"` // from the start to the last answer
	Kinds   []KindReport `json:"kinds"`

	Visible []VisibleReport `json:"visible,omitempty"`
}

// KindReport is what became of the requests of one kind.
type KindReport struct {
	Kind         string           `json:"kind"`          // top, rank or write
	AskedRate    float64          `json:"asked_rate"`    // requests a second, as configured
	AchievedRate float64          `json:"achieved_rate"` // good answers a second, see Good
	OpsRate      float64          `json:"ops_rate,omitempty"`
	Sent         int64            `json:"sent"`
	LateStarts   int64            `json:"late_starts"` // started over 1 ms after the intended time: all connections were busy
	HTTP         map[string]int64 `json:"http"`        // answers by HTTP status
	Statuses     map[string]int64 `json:"statuses"`    // answers by their field "status": fresh, stale, ...
	Failures     map[string]int64 `json:"failures"`    // requests without an answer, by reason
	Cache        map[string]int64 `json:"cache"`       // answers by Cache-Status: hit, fwd=miss, fwd=stale
	LatencyUS    Latency          `json:"latency_us"`
}

// Latency is measured from when a request was meant to start to its answer or failure, in microseconds.
type Latency struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	return Latency{
		P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9), Max: h.Max(),
	}
}

func (t *tally) report(kind string, p *pace) KindReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := KindReport{
		Kind: kind, AskedRate: p.rate, Sent: t.sent, LateStarts: p.late.Load(),
		HTTP: maps.Clone(t.http), Statuses: maps.Clone(t.statuses), Failures: maps.Clone(t.failures),
		LatencyUS: latencyOf(t.latency), Cache: maps.Clone(t.cache),
	}
	// A run that ends early by its last answer would look faster than its timetable.
	if seconds := max(t.last.Sub(p.start), p.length).Seconds(); t.sent > 0 {
		r.AchievedRate = float64(r.Good()) / seconds
	}
	return r
}

// Good is the number of answers that did what was asked: 2xx, and 404 to a rank, since a user without a score
// is a question like any other.
func (k KindReport) Good() int64 {
	var n int64
	for status, count := range k.HTTP {
		if strings.HasPrefix(status, "2") || k.Kind == "rank" && status == "404" {
			n += count
		}
	}
	return n
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s, board %s, %.1f s from %s\n\n", r.URL, r.Board, r.Seconds, r.Started.Format(time.RFC3339))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tasked/s\tachieved/s\tsent\tlate\tp50 ms\tp90 ms\tp99 ms\tp99.9 ms\tmax ms\t")
	for _, k := range r.Kinds {
		l := k.LatencyUS
		fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t\n", k.Kind, k.AskedRate, k.AchievedRate, k.Sent, k.LateStarts,
			millis(l.P50), millis(l.P90), millis(l.P99), millis(l.P999), millis(l.Max))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, k := range r.Kinds {
		fmt.Fprintf(w, "%s: answers %s", k.Kind, counts(k.HTTP))
		if len(k.Statuses) > 0 {
			fmt.Fprintf(w, "; %s", counts(k.Statuses))
		}
		if len(k.Cache) > 0 {
			fmt.Fprintf(w, "; cache %s", counts(k.Cache))
		}
		if len(k.Failures) > 0 {
			fmt.Fprintf(w, "; failed: %s", counts(k.Failures))
		}
		if k.OpsRate > 0 {
			fmt.Fprintf(w, "; %.0f operations/s acknowledged", k.OpsRate)
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	for _, v := range r.Visible {
		l := v.LatencyUS
		if _, err := fmt.Fprintf(w, "visible on %s after the acknowledgement: %d writes, %d missed; ms p50 %s, p90 %s, p99 %s, max %s\n",
			v.URL, v.Writes, v.Missed, millis(l.P50), millis(l.P90), millis(l.P99), millis(l.Max)); err != nil {
			return err
		}
	}
	return nil
}

func millis(us int64) string { return fmt.Sprintf("%.2f", float64(us)/1000) }

// counts writes "200: 12, 503: 1", in order.
func counts(m map[string]int64) string {
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s: %d", name, m[name]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
