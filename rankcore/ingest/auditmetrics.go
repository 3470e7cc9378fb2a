package ingest

import "github.com/prometheus/client_golang/prometheus"

// auditMetrics count what one process audits, also when it was asked to.
type auditMetrics struct {
	shards   *prometheus.CounterVec // by board
	drift    *prometheus.CounterVec // by board and kind
	repaired *prometheus.CounterVec // by board and kind
	failures *prometheus.CounterVec // by board
	seconds  prometheus.Histogram
	passed   prometheus.Gauge
}

func newAuditMetrics(reg prometheus.Registerer) auditMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rankgate_ingest_audit_" + name, Help: help}, labels)
	}
	m := auditMetrics{
		shards:   counter("shards_total", "Shards that were audited.", "board"),
		drift:    counter("drift_total", "Findings of audits: what a shard counts differs from what it holds, its position from the log, or the count index from the shards.", "board", "kind"),
		repaired: counter("repaired_total", "Findings of audits that were put right.", "board", "kind"),
		failures: counter("failures_total", "Audits that could not be finished, of a shard or of the count index, since the store or the log did not answer.", "board"),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rankgate_ingest_audit_seconds", Help: "Time in which the store audits one shard.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		passed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rankgate_ingest_audit_passed_timestamp_seconds", Help: "When every shard had last been audited; 0: not yet.",
		}),
	}
	register(reg, m.shards, m.drift, m.repaired, m.failures, m.seconds, m.passed)
	return m
}
