package gateway

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

type metrics struct {
	requests *prometheus.CounterVec   // rankgate_gateway_requests_total{route,code="2xx"}
	duration *prometheus.HistogramVec // rankgate_gateway_request_duration_seconds{route}
	accepted *prometheus.CounterVec   // rankgate_gateway_accepted_operations_total{key}

	// rankgate_gateway_exact_ranks_total{end}, what became of requests for exact ranks that are rationed
	exactSpent, exactRepeated, exactRefused, exactUncounted prometheus.Counter

	streams      prometheus.Gauge   // rankgate_gateway_open_streams
	streamEvents prometheus.Counter // rankgate_gateway_stream_events_total

	turnedAway prometheus.Counter // rankgate_gateway_refused_connections_total

	unrouted *routeMetrics // what no route took
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rankgate_gateway_requests_total",
			Help: "Requests answered, by route and class of status.",
		}, []string{"route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "rankgate_gateway_request_duration_seconds",
			Help:    "Time from a request being read to its answer being ready, by route.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 18), // to 6.6 s
		}, []string{"route"}),
		accepted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rankgate_gateway_accepted_operations_total",
			Help: "Operations made durable, by the name of the service key.",
		}, []string{"key"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rankgate_gateway_open_streams",
			Help: "Listeners to changes of top rows.",
		}),
		streamEvents: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankgate_gateway_stream_events_total",
			Help: "Changes of top rows rendered for all their listeners.",
		}),
	}
	m.turnedAway = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "rankgate_gateway_refused_connections_total",
		Help: "Connections that were not served: one address had too many, or all there may be were open.",
	})
	exact := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_gateway_exact_ranks_total",
		Help: "Requests for exact ranks that are rationed: answered, answered again, refused, or not counted because the quota store did not answer.",
	}, []string{"end"})
	m.exactSpent, m.exactRepeated = exact.WithLabelValues("answered"), exact.WithLabelValues("repeated")
	m.exactRefused, m.exactUncounted = exact.WithLabelValues("refused"), exact.WithLabelValues("uncounted")
	if r != nil {
		r.MustRegister(m.requests, m.duration, m.accepted, exact, m.streams, m.streamEvents, m.turnedAway)
	}
	m.unrouted = m.route("none")
	return m
}

// routeMetrics are one route's, bound once: finding them by label costs ten times as much as counting.
type routeMetrics struct {
	classes  [6]prometheus.Counter // by the status's first digit
	duration prometheus.Observer
}

func (m *metrics) route(name string) *routeMetrics {
	r := &routeMetrics{duration: m.duration.WithLabelValues(name)}
	for i, class := range [...]string{"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"} {
		if i >= 2 {
			r.classes[i] = m.requests.WithLabelValues(name, class)
		}
	}
	return r
}

// answered counts an answer that took no work worth measuring.
func (r *routeMetrics) answered(status int) { r.classes[status/100].Inc() }

// took counts an answer and how long it took.
func (r *routeMetrics) took(status int, d time.Duration) {
	r.answered(status)
	r.duration.Observe(d.Seconds())
}

// metricsPage serves what g has gathered, in the Prometheus text format.
func metricsPage(g prometheus.Gatherer) fiber.Handler {
	page := fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(g, promhttp.HandlerOpts{}))
	return func(c *fiber.Ctx) error {
		page(c.Context())
		return nil
	}
}
