package aggregate

import "github.com/prometheus/client_golang/prometheus"

type serverMetrics struct {
	readings          prometheus.Counter
	answered, refused prometheus.Counter // rankgate_aggregate_answers_total{result}

	counts, countsRefused prometheus.Counter // rankgate_aggregate_counts_total{result}
}

func newServerMetrics(r prometheus.Registerer) *serverMetrics {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_aggregate_answers_total",
		Help: "Questions of gateways to this core, by result: answered, refused.",
	}, []string{"result"})
	counts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_aggregate_counts_total",
		Help: "Questions of gateways to this core's count index, by result: answered (also by that it cannot tell this one), refused.",
	}, []string{"result"})
	m := &serverMetrics{
		readings: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_aggregate_readings_total",
			Help: "Times the first rows of a season were read from all shards for all gateways.",
		}),
		answered: answers.WithLabelValues("answered"),
		refused:  answers.WithLabelValues("refused"),

		counts: counts.WithLabelValues("answered"), countsRefused: counts.WithLabelValues("refused"),
	}
	if r != nil {
		r.MustRegister(answers, counts, m.readings)
	}
	return m
}

type clientMetrics struct {
	answered, unheard, late, refused, older, resting prometheus.Counter // rankgate_aggregate_asked_total{result}

	own prometheus.Counter
}

func newClientMetrics(r prometheus.Registerer) *clientMetrics {
	asked := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_aggregate_asked_total",
		Help: "Questions for the core that applies the board, by result: answered, unheard (nobody listens), late, refused, older, resting (not asked so soon after one of these). All but answered were then answered from rows that this process reads itself.",
	}, []string{"result"})
	m := &clientMetrics{
		own: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_aggregate_own_readings_total",
			Help: "Times this process read the first rows of a season from all shards itself, because the core was no help.",
		}),
		answered: asked.WithLabelValues("answered"), unheard: asked.WithLabelValues("unheard"),
		late: asked.WithLabelValues("late"), refused: asked.WithLabelValues("refused"), older: asked.WithLabelValues("older"),
		resting: asked.WithLabelValues("resting"),
	}
	if r != nil {
		r.MustRegister(asked, m.own)
	}
	return m
}

type counterMetrics struct {
	answered, moved, unknown, unheard, late, refused, garbled, resting prometheus.Counter // rankgate_aggregate_counts_asked_total{result}
}

func newCounterMetrics(r prometheus.Registerer) *counterMetrics {
	asked := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_aggregate_counts_asked_total",
		Help: "Questions for the count index of the core that applies the board, by result: answered, moved (the user's shard is read again), unknown (it cannot tell this), unheard (nobody listens), late, refused (not ready), garbled, resting (not asked so soon after one of these). All but answered and moved were then asked of the shards.",
	}, []string{"result"})
	m := &counterMetrics{
		answered: asked.WithLabelValues("answered"), moved: asked.WithLabelValues("moved"), unknown: asked.WithLabelValues("unknown"),
		unheard: asked.WithLabelValues("unheard"), late: asked.WithLabelValues("late"), refused: asked.WithLabelValues("refused"),
		garbled: asked.WithLabelValues("garbled"), resting: asked.WithLabelValues("resting"),
	}
	if r != nil {
		r.MustRegister(asked)
	}
	return m
}
