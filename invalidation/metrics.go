package invalidation

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type announcerMetrics struct {
	broadcasts, beacons prometheus.Counter // rankgate_invalidation_sent_total{kind}
	dropped             prometheus.Counter
}

func newAnnouncerMetrics(r prometheus.Registerer) *announcerMetrics {
	sent := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_invalidation_sent_total",
		Help: "Messages handed to NATS, by kind.",
	}, []string{"kind"})
	m := &announcerMetrics{
		broadcasts: sent.WithLabelValues("broadcast"),
		beacons:    sent.WithLabelValues("beacon"),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_invalidation_unsent_total",
			Help: "Messages dropped because NATS was away. Listeners notice the gap.",
		}),
	}
	if r != nil {
		r.MustRegister(sent, m.dropped)
	}
	return m
}

type listenerMetrics struct {
	heard   *prometheus.CounterVec // rankgate_invalidation_heard_total{kind="broadcast"|"beacon"|"garbage"|"unknown_board"}
	missed  prometheus.Counter
	suspect *prometheus.CounterVec // rankgate_invalidation_suspicions_total{why}
}

func newListenerMetrics(r prometheus.Registerer) *listenerMetrics {
	m := &listenerMetrics{
		heard: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rankgate_invalidation_heard_total",
			Help: "Messages heard, by kind. Garbage and unknown boards are ignored.",
		}, []string{"kind"}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_invalidation_missed_total",
			Help: "Messages that were sent and not heard, by the numbers of their sources.",
		}),
		suspect: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rankgate_invalidation_suspicions_total",
			Help: "Times the whole cache was to be re-read, by why: gap, dropped, reconnect, silence, late_start.",
		}, []string{"why"}),
	}
	if r != nil {
		r.MustRegister(m.heard, m.missed, m.suspect)
	}
	return m
}

// measureBoards tells how far behind the log each board was when that was last heard, and how long ago that is.
func (l *Listener) measureBoards(r prometheus.Registerer) {
	if r == nil {
		return
	}
	for id := range l.boards {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "rankgate_invalidation_behind_seconds",
			Help:        "Age of the moment up to which the shards are known to have everything; +Inf before anything was heard.",
			ConstLabels: prometheus.Labels{"board": string(id)},
		}, func() float64 {
			p, _, ok := l.Progress(id)
			if !ok || p.CaughtUp.IsZero() {
				return math.Inf(1)
			}
			return time.Since(p.CaughtUp).Seconds()
		}))
	}
}
