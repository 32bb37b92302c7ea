package validators

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/gauge"
)

// Metrics count what rules do; nil counts nothing.
type Metrics struct {
	rules    prometheus.Gauge
	revision prometheus.Gauge
	failing  prometheus.Gauge
	seconds  *prometheus.HistogramVec
	refusals *prometheus.CounterVec
}

// NewMetrics makes and registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		rules:    gauge.One("fairlead_rules", "Rules in force."),
		revision: gauge.One("fairlead_rules_revision", "The revision of the rules in force as a number: the same on every replica that has the same rules."),
		failing:  gauge.One("fairlead_rules_failing", "1 if the newest rules cannot be used and older ones are in force; the log says why."),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_rules_evaluation_seconds", Help: "Time to judge an object by the rules of its kind, by outcome.",
			// From one small object to the time that the API server waits at most by default, 5 s.
			Buckets: []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1, 5},
		}, []string{"kind", "outcome"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_rules_violations_total", Help: "Mistakes found in objects, by rule.",
		}, []string{"rule"}),
	}
	registry.MustRegister(m.rules, m.revision, m.failing, m.seconds, m.refusals)
	return m
}

func (m *Metrics) loaded(rules int, now revision) {
	if m == nil {
		return
	}
	m.rules.Set(float64(rules))
	m.revision.Set(float64(now))
	m.failing.Set(0)
}

// refused says that the newest rules are of no use.
func (m *Metrics) refused() {
	if m != nil {
		m.failing.Set(1)
	}
}

func (m *Metrics) judged(kind string, took time.Duration, verdict Verdict, err error) {
	if m == nil {
		return
	}
	outcome := "accepted"
	switch {
	case err != nil:
		outcome = "failed"
	case len(verdict.Violations) > 0:
		outcome = "refused"
	}
	m.seconds.WithLabelValues(kind, outcome).Observe(took.Seconds())
	for _, v := range verdict.Violations {
		m.refusals.WithLabelValues(v.Rule).Inc()
	}
}
