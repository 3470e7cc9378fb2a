package tally

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"rankgate/rankcore"
)

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// kinds of boards: scores spread over ten times as many values, over all there are, and one bunched at the low end.
var spreads = map[string]func(r *rand.Rand, members int) int64{
	"near":    func(r *rand.Rand, members int) int64 { return -r.Int64N(int64(members) * 10) },
	"far":     func(r *rand.Rand, _ int) int64 { return r.Int64N(2*rankcore.MaxScore) - rankcore.MaxScore },
	"bunched": func(r *rand.Rand, _ int) int64 { return -int64(r.ExpFloat64() * 1e6) },
}

// BenchmarkCounts reports what a distinct score costs in memory, and the time of lookups and updates at random.
// An update moves a member: it takes one score away and adds another.
func BenchmarkCounts(b *testing.B) {
	for _, members := range []int{10_000, 100_000, 1_000_000, 5_000_000, 10_000_000} {
		for _, spread := range []string{"near", "far", "bunched"} {
			b.Run(fmt.Sprintf("%s-%d", spread, members), func(b *testing.B) { benchCounts(b, members, spreads[spread]) })
		}
	}
}

func benchCounts(b *testing.B, members int, draw func(r *rand.Rand, members int) int64) {
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([]int64, members)
	empty := heap()
	var c Counts
	for i := range keys {
		keys[i] = draw(r, members)
		c.Add(keys[i], 1)
	}
	bytes := float64(heap() - empty)
	b.Run("count", func(b *testing.B) {
		sum, i := int64(0), 0
		measure(b, func() {
			above, _ := c.Count(keys[i])
			sum += above
			i = (i + 1) % members
		})
		b.ReportMetric(bytes/float64(c.Distinct()), "B/score")
		b.ReportMetric(float64(c.Distinct())/1e6, "Mscores")
	})
	b.Run("nth", func(b *testing.B) {
		measure(b, func() { c.Nth(1 + r.Int64N(c.Total())) })
	})
	b.Run("move", func(b *testing.B) {
		i := 0
		measure(b, func() {
			key := draw(r, members)
			c.Add(keys[i], -1)
			c.Add(key, 1)
			keys[i] = key
			i = (i + 1) % members
		})
	})
	b.Run("segments", func(b *testing.B) {
		measure(b, func() { c.Segments() })
	})
	runtime.KeepAlive(keys)
}

// measure adds the time that an operation takes in the quickest tenth of many short runs. On a machine that others
// use as well, the mean tells more of them.
func measure(b *testing.B, do func()) {
	b.Helper()
	const batch = 256
	var runs []float64
	n, began := 0, time.Now()
	for b.Loop() {
		do()
		if n++; n == batch {
			now := time.Now()
			runs = append(runs, float64(now.Sub(began))/batch)
			n, began = 0, now
		}
	}
	if len(runs) > 0 {
		slices.Sort(runs)
		b.ReportMetric(runs[len(runs)/10], "quiet-ns/op")
	}
}

// BenchmarkFenwick is what a lookup and an update cost in an array of counts for each of ten million scores: the
// machine's mood is in both figures, so compare the two of one run.
func BenchmarkFenwick(b *testing.B) {
	const scores = 10_000_000
	r := rand.New(rand.NewPCG(1, 2))
	sums := make([]int64, scores+1)
	add := func(at int, n int64) {
		for at++; at <= scores; at += at & -at {
			sums[at] += n
		}
	}
	for range scores {
		add(r.IntN(scores), 1)
	}
	b.Run("count", func(b *testing.B) {
		total := int64(0)
		measure(b, func() {
			for at := r.IntN(scores); at > 0; at &= at - 1 {
				total += sums[at]
			}
		})
	})
	b.Run("move", func(b *testing.B) {
		measure(b, func() {
			add(r.IntN(scores), -1)
			add(r.IntN(scores), 1)
		})
	})
}
