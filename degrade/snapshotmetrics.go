package degrade

import "github.com/prometheus/client_golang/prometheus"

type snapshotMetrics struct {
	writes           prometheus.Histogram
	failed, badFiles prometheus.Counter
	asOf             *prometheus.GaugeVec
}

func newSnapshotMetrics(r prometheus.Registerer) *snapshotMetrics {
	m := &snapshotMetrics{
		writes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "rankgate_degrade_snapshot_write_seconds",
			Help:    "Time to put a snapshot on the disk.",
			Buckets: []float64{250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 1},
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_degrade_snapshot_write_failures_total",
			Help: "Snapshots that could not be put on the disk.",
		}),
		badFiles: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_degrade_snapshot_bad_files_total",
			Help: "Snapshot files passed over at the start: damaged, or not written for the board as it is.",
		}),
		asOf: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rankgate_degrade_snapshot_as_of_timestamp_seconds",
			Help: "When the newest snapshot of the board's current season was true, in Unix time.",
		}, []string{"board", "season"}),
	}
	if r != nil {
		r.MustRegister(m.writes, m.failed, m.badFiles, m.asOf)
	}
	return m
}
