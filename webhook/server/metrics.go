package server

import (
	"sync"
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

// patchBuckets in bytes: one field's default takes some tens, a small sidecar some hundreds, a Pod with a handful of
// large ones some tens of thousands; the API server's own limit for an object is 3 MiB.
var patchBuckets = []float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}

// Metrics are the metrics of a Server.
type Metrics struct {
	duration *prometheus.HistogramVec
	patch    *prometheus.HistogramVec
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
		patch: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fairlead_webhook_patch_bytes",
			Help:    "Size of the JSON Patches that reviews were answered with, in bytes, by webhook.",
			Buckets: patchBuckets,
		}, []string{"webhook"}),
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
	registry.MustRegister(m.duration, m.patch, m.inFlight, m.shed, m.panics, m.evicted)
	for _, reason := range []string{shedConcurrency, shedMemory, shedCold} {
		m.shed.WithLabelValues(reason) // shows 0 before the first one, so that alerts on increases work
	}
	return m
}

func (m *Metrics) observe(c *call, o outcome, took time.Duration) {
	m.duration.WithLabelValues(c.route.Webhooks[0], operation(c.review.Request), string(o)).Observe(took.Seconds())
}

// patchOf is the size metric of a webhook's patches. It is there from the first patch on, as most webhooks have none.
func (m *Metrics) patchOf(webhook string) func() prometheus.Observer {
	return sync.OnceValue(func() prometheus.Observer { return m.patch.WithLabelValues(webhook) })
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
