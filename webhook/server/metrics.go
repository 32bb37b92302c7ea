package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Reasons for which a request was shed.
const (
	shedConcurrency = "concurrency"
	shedMemory      = "memory"
	shedCold        = "not_ready"
)

// buckets of the request duration in seconds: a Pod that nothing matches takes about a tenth of a millisecond, an
// injected one less than a millisecond, one that waits for the API server tens, and 10 s is the API's default timeout.
var buckets = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
}

// Metrics are the metrics of a Server.
type Metrics struct {
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	shed     *prometheus.CounterVec
	panics   *prometheus.CounterVec
	evicted  prometheus.Counter
}

// NewMetrics makes the metrics and registers them. It panics if they are registered already, as Prometheus' own do.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fairlead_webhook_request_duration_seconds",
			Help:    "Time from a review's header to its answer, by webhook, operation and outcome.",
			Buckets: buckets,
		}, []string{"webhook", "operation", "outcome"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_webhook_requests_in_flight",
			Help: "Reviews that are being judged now.",
		}),
		shed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_webhook_requests_shed_total",
			Help: "Reviews refused unjudged, by reason: concurrency, memory, not_ready.",
		}, []string{"reason"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_webhook_panics_total",
			Help: "Panics of handlers, by webhook.",
		}, []string{"webhook"}),
		evicted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_webhook_connections_evicted_total",
			Help: "Connections closed because there were too many: idle ones, or the newest when none idled.",
		}),
	}
	registry.MustRegister(m.duration, m.inFlight, m.shed, m.panics, m.evicted)
	for _, reason := range []string{shedConcurrency, shedMemory, shedCold} {
		m.shed.WithLabelValues(reason) // shows 0 before the first one, so that alerts on increases work
	}
	return m
}

func (m *Metrics) observe(c *call, o outcome, took time.Duration) {
	m.duration.WithLabelValues(c.route.Webhooks[0], operation(c.review.Request), string(o)).Observe(took.Seconds())
}

// operation is the label for an operation. Only the API's own are labels, so that a sender cannot make new series.
func operation(req *admission.Request) string {
	if req == nil {
		return "none"
	}
	switch req.Operation {
	case admission.Create, admission.Update, admission.Delete, admission.Connect:
		return string(req.Operation)
	default:
		return "other"
	}
}
