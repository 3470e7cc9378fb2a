package ingest

import (
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// logMetrics count what one process appends.
type logMetrics struct {
	ops           prometheus.Counter
	messages      prometheus.Counter
	failed        prometheus.Counter
	refused       prometheus.Counter
	lost          prometheus.Counter
	trimmed       prometheus.Counter
	strays        prometheus.Counter
	bytes         prometheus.Gauge
	commitSeconds prometheus.Histogram
}

func newLogMetrics(reg prometheus.Registerer) logMetrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "rankgate_ingest_" + name, Help: help})
	}
	m := logMetrics{
		ops:      counter("appended_ops_total", "Operations the log confirmed."),
		messages: counter("appended_messages_total", "Messages the log confirmed, each with the operations of many callers."),
		failed:   counter("append_failures_total", "Messages the log did not confirm in time or refused."),
		refused:  counter("append_overflows_total", "Appends refused because too much was waiting for the log."),
		lost:     counter("lost_records_total", "Records written because the log no longer had a message it had confirmed."),
		trimmed:  counter("trimmed_messages_total", "Old messages dropped after every shard had taken them in."),
		strays:   counter("stray_messages_total", "Messages to boards that are not configured, put aside as dead letters."),
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rankgate_ingest_log_bytes", Help: "Size of the log's stream.",
		}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rankgate_ingest_commit_seconds", Help: "Time from a message's first attempt to its confirmation.",
			Buckets: prometheus.ExponentialBuckets(100e-6, 2, 16),
		}),
	}
	register(reg, m.ops, m.messages, m.failed, m.refused, m.lost, m.trimmed, m.strays, m.bytes, m.commitSeconds)
	return m
}

// applierMetrics count what one board's applier does.
type applierMetrics struct {
	ops         [rankcore.Conflict + 1]prometheus.Counter // by outcome
	batches     prometheus.Counter
	stepSeconds prometheus.Histogram
	lag         prometheus.Gauge
	leader      prometheus.Gauge
	shards      [numStates]prometheus.Gauge
	dead        prometheus.Counter
	lost        prometheus.Counter
	rebuilds    prometheus.Counter
	sessions    prometheus.Counter
	starts      prometheus.Counter
	catchups    prometheus.Counter
}

func newApplierMetrics(reg prometheus.Registerer, id rankcore.BoardID) applierMetrics {
	board := prometheus.Labels{"board": string(id)}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "rankgate_ingest_" + name, Help: help, ConstLabels: board})
	}
	m := applierMetrics{
		batches:  counter("batches_total", "Runs of messages read and applied together."),
		dead:     counter("dead_letters_total", "Operations and messages that can never apply, put aside with their reason."),
		lost:     counter("rebases_total", "Shards whose position the log had lost, mended by time."),
		rebuilds: counter("rebuilds_total", "Times a shard was found that the log no longer reaches back to."),
		sessions: counter("sessions_total", "Consumers opened on the log."),
		starts:   counter("starts_total", "Times the applier began anew from the shards' positions."),
		catchups: counter("catchups_total", "Shards that were fed from their own position."),
		lag:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "rankgate_ingest_lag_messages", Help: "Messages in the log that are not read yet.", ConstLabels: board}),
		leader:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "rankgate_ingest_leader", Help: "1 while this process applies the board, 0 while it stands by.", ConstLabels: board}),
		stepSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rankgate_ingest_apply_seconds", Help: "Time of one call that applies steps to shards.", ConstLabels: board,
			Buckets: prometheus.ExponentialBuckets(100e-6, 2, 16),
		}),
	}
	all := []prometheus.Collector{m.batches, m.dead, m.lost, m.rebuilds, m.sessions, m.starts, m.catchups, m.lag, m.leader, m.stepSeconds}
	ops := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rankgate_ingest_applied_ops_total", Help: "Operations taken in, by outcome.", ConstLabels: board}, []string{"outcome"})
	for o := range m.ops {
		m.ops[o] = ops.WithLabelValues(rankcore.Outcome(o).String())
	}
	shards := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rankgate_ingest_shards", Help: "Shards by what the applier knows of them.", ConstLabels: board}, []string{"state"})
	for s := range m.shards {
		m.shards[s] = shards.WithLabelValues(state(s).String())
	}
	register(reg, append(all, ops, shards)...)
	return m
}

func register(reg prometheus.Registerer, all ...prometheus.Collector) {
	if reg != nil {
		reg.MustRegister(all...)
	}
}
