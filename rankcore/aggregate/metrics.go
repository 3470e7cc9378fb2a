package aggregate

import "github.com/prometheus/client_golang/prometheus"

type serverMetrics struct {
	readings          prometheus.Counter
	answered, refused prometheus.Counter // rankgate_aggregate_answers_total{result}
}

func newServerMetrics(r prometheus.Registerer) *serverMetrics {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_aggregate_answers_total",
		Help: "Questions of gateways to this core, by result: answered, refused.",
	}, []string{"result"})
	m := &serverMetrics{
		readings: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_aggregate_readings_total",
			Help: "Times the first rows of a season were read from all shards for all gateways.",
		}),
		answered: answers.WithLabelValues("answered"),
		refused:  answers.WithLabelValues("refused"),
	}
	if r != nil {
		r.MustRegister(answers, m.readings)
	}
	return m
}

type clientMetrics struct {
	answered, unheard, late, refused, older, resting prometheus.Counter // rankgate_aggregate_asked_total{result}
}

func newClientMetrics(r prometheus.Registerer) *clientMetrics {
	asked := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_aggregate_asked_total",
		Help: "Questions for the core that applies the board, by result: answered, unheard (nobody listens), late, refused, older, resting (not asked so soon after one of these). All but answered were then asked of the shards.",
	}, []string{"result"})
	m := &clientMetrics{
		answered: asked.WithLabelValues("answered"), unheard: asked.WithLabelValues("unheard"),
		late: asked.WithLabelValues("late"), refused: asked.WithLabelValues("refused"), older: asked.WithLabelValues("older"),
		resting: asked.WithLabelValues("resting"),
	}
	if r != nil {
		r.MustRegister(asked)
	}
	return m
}
