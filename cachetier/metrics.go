package cachetier

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// metrics is also otter's recorder: it alone knows what it evicts for room.
type metrics struct {
	hits, misses                        [len(kinds)]prometheus.Counter // rankgate_cachetier_reads_total{kind,result}
	answers                             map[rankcore.Status]prometheus.Counter
	users, alls, tops, floors, suspects prometheus.Counter // rankgate_cachetier_invalidations_total{what}
	evictions                           prometheus.Counter
	loadSeconds                         prometheus.Histogram
	audits                              [len(verdicts)]prometheus.Counter // rankgate_cachetier_audits_total{result}

	vectors []prometheus.Collector
}

// kind is a kind of question.
type kind uint8

const (
	kindTop kind = iota
	kindRank
	kindAround
	kindRows  // never kept
	kindRanks // never kept
)

var kinds = [...]string{kindTop: "top", kindRank: "rank", kindAround: "around", kindRows: "rows", kindRanks: "ranks"}

func newMetrics() *metrics {
	reads := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_cachetier_reads_total",
		Help: "Questions, by kind and by whether memory answered (hit) or the source had to (miss).",
	}, []string{"kind", "result"})
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_cachetier_answers_total",
		Help: "Answers given, by status.",
	}, []string{"status"})
	invalidations := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_cachetier_invalidations_total",
		Help: "Times something cached was no longer to be served, by what: users, all, top, floor, suspect.",
	}, []string{"what"})
	m := &metrics{
		answers:  make(map[rankcore.Status]prometheus.Counter),
		users:    invalidations.WithLabelValues("users"),
		alls:     invalidations.WithLabelValues("all"),
		tops:     invalidations.WithLabelValues("top"),
		floors:   invalidations.WithLabelValues("floor"),
		suspects: invalidations.WithLabelValues("suspect"),
		evictions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_cachetier_evictions_total",
			Help: "Entries evicted for room or by age.",
		}),
		loadSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "rankgate_cachetier_load_seconds",
			Help:    "Time the source took to answer.",
			Buckets: []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1},
		}),
	}
	for _, status := range []rankcore.Status{rankcore.Fresh, rankcore.Stale, rankcore.Partial, rankcore.Updating} {
		m.answers[status] = answers.WithLabelValues(string(status))
	}
	for k, name := range kinds {
		m.hits[k], m.misses[k] = reads.WithLabelValues(name, "hit"), reads.WithLabelValues(name, "miss")
	}
	audits, each := newAudits()
	m.audits = each
	m.vectors = []prometheus.Collector{reads, answers, invalidations, m.evictions, m.loadSeconds, audits}
	return m
}

func (m *metrics) register(r prometheus.Registerer, t *Tier) {
	if r == nil {
		return
	}
	r.MustRegister(m.vectors...)
	r.MustRegister(newAges(t))
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rankgate_cachetier_held_bytes",
		Help: "Roughly what the cached answers and their keys take in memory.",
	}, t.bytes))
}

func (m *metrics) answered(s rankcore.Status) {
	if c := m.answers[s]; c != nil {
		c.Inc()
	}
}

func (m *metrics) invalidated(c rankcore.Change) {
	switch {
	case c.All:
		m.alls.Inc()
	case c.Top:
		m.tops.Inc()
	default:
		m.users.Add(float64(len(c.Users)))
	}
}

// RecordEviction counts what otter evicts. It runs under otter's locks.
func (m *metrics) RecordEviction(uint32) { m.evictions.Inc() }

// RecordHits, RecordMisses and the loads of otter are not ours: an entry that is there may still not be served.
func (*metrics) RecordHits(int) {}

// RecordMisses is explained at RecordHits.
func (*metrics) RecordMisses(int) {}

// RecordLoadSuccess is explained at RecordHits.
func (*metrics) RecordLoadSuccess(time.Duration) {}

// RecordLoadFailure is explained at RecordHits.
func (*metrics) RecordLoadFailure(time.Duration) {}
