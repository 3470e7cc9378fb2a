package degrade

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

type metrics struct {
	ok, failed      prometheus.Counter // rankgate_degrade_questions_total{outcome}
	shed            prometheus.Counter
	stale, updating prometheus.Counter // rankgate_degrade_answers_total{status}
	snapshot        prometheus.Counter // likewise
	partial         prometheus.Counter // likewise
	breaker         *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer, places func() float64) *metrics {
	questions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_degrade_questions_total",
		Help: "Questions put to the core, by outcome: ok, failed (open breaker included), or shed before the core.",
	}, []string{"outcome"})
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_degrade_answers_total",
		Help: "Answers given in place of the core's, by status: stale (the last good one), snapshot (stale too), or updating; and its own partial ones.",
	}, []string{"status"})
	m := &metrics{
		ok:       questions.WithLabelValues("ok"),
		failed:   questions.WithLabelValues("failed"),
		shed:     questions.WithLabelValues("shed"),
		stale:    answers.WithLabelValues("stale"),
		snapshot: answers.WithLabelValues("snapshot"),
		updating: answers.WithLabelValues("updating"),
		partial:  answers.WithLabelValues("partial"),
		breaker: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rankgate_degrade_breaker_state",
			Help: "The board's breaker: 0 closed, 1 half-open, 2 open.",
		}, []string{"board"}),
	}
	if r != nil {
		r.MustRegister(questions, answers, m.breaker, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "rankgate_degrade_places",
			Help: "Questions that the core may have at one time: fewer while it is slow.",
		}, places))
	}
	return m
}

// asked counts a question's outcome. One whose caller left has none.
func (m *metrics) asked(err error) {
	switch {
	case err == nil || errors.Is(err, rankcore.ErrNotRanked):
		m.ok.Inc()
	case !errors.Is(err, errAbandoned) && !errors.Is(err, errShed):
		m.failed.Inc()
	}
}
