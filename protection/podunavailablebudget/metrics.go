package podunavailablebudget

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts denials. The name is that of protection.md §3; its labels are not: names of users and objects have no bound,
// and are in the audit log.
type Metrics struct{ denials *prometheus.CounterVec }

// NewMetrics registers the counter.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pod_unavailable_budget", Help: "Operations on Pods that PodUnavailableBudgets denied, dry runs left out.",
	}, []string{"operation", "reason"})}
	for _, operation := range []Operation{Delete, Evict, Update, Resize} {
		m.denials.WithLabelValues(string(operation), string(Exhausted))
	}
	registry.MustRegister(m.denials)
	return m
}

// Denied counts a denial.
func (m *Metrics) Denied(d Denial) {
	m.denials.WithLabelValues(string(d.Operation), string(d.Reason)).Inc()
}
