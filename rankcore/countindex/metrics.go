package countindex

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	builds *prometheus.CounterVec // rankgate_count_index_builds_total{board}
}

// newMetrics adds what can be asked of each board at any time; a nil registerer takes nothing.
func newMetrics(r prometheus.Registerer, x *Index) metrics {
	m := metrics{builds: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_count_index_builds_total", Help: "How often the count index of a board was built.",
	}, []string{"board"})}
	if r == nil {
		return m
	}
	r.MustRegister(m.builds)
	for id := range x.boards {
		gauge := func(name, help string, of func(State) float64) {
			r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "rankgate_count_index_" + name, Help: help, ConstLabels: prometheus.Labels{"board": string(id)},
			}, func() float64 { return of(x.State(id)) }))
		}
		gauge("ready", "1 when the count index answers, else shards are asked.", func(s State) float64 {
			if s.Ready {
				return 1
			}
			return 0
		})
		gauge("scanned_shards", "Shards that the count index has whole.", func(s State) float64 { return float64(s.Scanned) })
		gauge("members", "Members counted, over all seasons.", func(s State) float64 { return float64(s.Members) })
		gauge("scores", "Distinct scores counted, over all seasons.", func(s State) float64 { return float64(s.Scores) })
		gauge("bytes", "Memory of the counts.", func(s State) float64 { return float64(s.Bytes) })
		gauge("build_seconds", "How long the last building took.", func(s State) float64 { return s.Took.Round(time.Millisecond).Seconds() })
	}
	return m
}
