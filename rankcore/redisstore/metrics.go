package redisstore

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"rankgate/rankcore"
)

type metrics struct {
	calls          *prometheus.HistogramVec // rankgate_redisstore_call_seconds{script}
	unknownScripts prometheus.Counter       // rankgate_redisstore_unknown_scripts_total
	steps          *prometheus.CounterVec   // rankgate_redisstore_steps_total{end}
}

func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	return &metrics{
		calls: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rankgate_redisstore_call_seconds", Help: "Time to ask the shards of one node at once, by what was asked.",
			Buckets: prometheus.ExponentialBuckets(0.0002, 2, 14),
		}, []string{"script"}),
		unknownScripts: f.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_redisstore_unknown_scripts_total", Help: "Rounds that were sent again because a node did not know the script.",
		}),
		steps: f.NewCounterVec(prometheus.CounterOpts{
			Name: "rankgate_redisstore_steps_total", Help: "Steps and audits of shards, by how they ended.",
		}, []string{"end"}),
	}
}

var stepEnds = [...]string{
	rankcore.StepFailed: "failed", rankcore.StepApplied: "applied", rankcore.StepAt: "at", rankcore.StepDamaged: "damaged",
}

// countSteps counts how steps ended.
func (m *metrics) countSteps(results []rankcore.StepResult) {
	var ends [len(stepEnds)]int
	for _, r := range results {
		ends[r.State]++
	}
	for state, n := range ends {
		if n > 0 {
			m.steps.WithLabelValues(stepEnds[state]).Add(float64(n))
		}
	}
}
