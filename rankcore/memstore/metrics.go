package memstore

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	checkpoints prometheus.Histogram // rankgate_memstore_checkpoint_seconds
	bytes       prometheus.Counter   // rankgate_memstore_checkpoint_bytes_total
	failures    prometheus.Counter   // rankgate_memstore_checkpoint_failures_total
	badFiles    prometheus.Counter   // rankgate_memstore_bad_checkpoints_total
}

func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	return &metrics{
		checkpoints: f.NewHistogram(prometheus.HistogramOpts{
			Name: "rankgate_memstore_checkpoint_seconds", Help: "Time to write one shard's checkpoint to disk.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}),
		bytes: f.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_memstore_checkpoint_bytes_total", Help: "Bytes of checkpoints written.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_memstore_checkpoint_failures_total", Help: "Checkpoints that could not be written.",
		}),
		badFiles: f.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_memstore_bad_checkpoints_total", Help: "Checkpoint files that were not whole and were passed over.",
		}),
	}
}
