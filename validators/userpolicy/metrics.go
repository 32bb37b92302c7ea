package userpolicy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/gauge"
)

// Metrics count what sets do, by their names: never by users or objects.
type Metrics struct {
	decisions *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	active    *prometheus.GaugeVec
	failing   *prometheus.GaugeVec
}

// The actions of decisions beside those of rules.
const (
	actionAllow = "allow"
	actionError = "error"
)

// NewMetrics makes and registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_policy_decisions_total",
			Help: "Decisions of users' policies, by set and action: allow, deny, warn, dryrun, exempt, and error where there was none.",
		}, []string{"set", "action"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_policy_evaluation_seconds", Help: "Time that a set takes for a request, without waiting for its turn.",
			// From one small object to the time that the API server waits at most, 30 s.
			Buckets: []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1, 5, 30},
		}, []string{"set"}),
		active:  gauge.By("fairlead_policy_set_active", "1 for each set that is in force on this replica.", "set"),
		failing: gauge.By("fairlead_policy_set_failing", "1 if the newest version of a set cannot be used, or not all of its rules are asked; its status says why.", "set"),
	}
	registry.MustRegister(m.decisions, m.seconds, m.active, m.failing)
	return m
}

func (m *Metrics) decided(set string, decision Decision, err error, took time.Duration) {
	m.seconds.WithLabelValues(set).Observe(took.Seconds())
	action := actionAllow
	switch {
	case err != nil:
		action = actionError
	case len(decision.Violations) > 0:
		action = string(decision.Violations[0].Action)
	case len(decision.Exempt) > 0:
		action = string(Exempted)
	}
	m.decisions.WithLabelValues(set, action).Inc()
}

// State notes whether a set is in force, and whether something of its newest version is not.
func (m *Metrics) State(set string, active, failing bool) {
	m.active.WithLabelValues(set).Set(number(active))
	m.failing.WithLabelValues(set).Set(number(failing))
}

// Forget drops the series of a set that is gone.
func (m *Metrics) Forget(set string) {
	label := prometheus.Labels{"set": set}
	m.decisions.DeletePartialMatch(label)
	m.seconds.DeletePartialMatch(label)
	m.active.DeletePartialMatch(label)
	m.failing.DeletePartialMatch(label)
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
