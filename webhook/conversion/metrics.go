package conversion

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// outcome is how a review ended, as the metrics name it.
type outcome string

const (
	outcomeConverted outcome = "converted"
	outcomeFailed    outcome = "failed"
	outcomeMalformed outcome = "malformed"
	outcomeShed      outcome = "shed"
)

// Metrics count reviews and objects.
type Metrics struct {
	duration *prometheus.HistogramVec
	objects  *prometheus.CounterVec
	panics   prometheus.Counter
}

// NewMetrics registers the metrics of conversion.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_conversion_duration_seconds",
			Help: "Time from a conversion review's header to the end of its answer, by outcome.",
			// One object takes tens of microseconds, a page of thousands seconds.
			Buckets: []float64{0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 30},
		}, []string{"outcome"}),
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_conversion_objects_total",
			Help: "Objects that conversion reviews asked for, by outcome.",
		}, []string{"outcome"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_conversion_panics_total",
			Help: "Objects whose conversion panicked.",
		}),
	}
	for _, collector := range []prometheus.Collector{m.duration, m.objects, m.panics} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the metrics of conversion: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) observe(o outcome, took time.Duration) {
	m.duration.WithLabelValues(string(o)).Observe(took.Seconds())
}

func (m *Metrics) count(done, failed int) {
	m.objects.WithLabelValues(string(outcomeConverted)).Add(float64(done))
	m.objects.WithLabelValues(string(outcomeFailed)).Add(float64(failed))
}
