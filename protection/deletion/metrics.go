package deletion

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts denials. The names are those of protection.md §1; their labels are not: names of users and objects
// have no bound, and are in the audit log.
type Metrics struct {
	namespaces, definitions, workloads *prometheus.CounterVec
}

// NewMetrics registers the counters.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	counter := func(name, what string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name, Help: "Deletions of " + what + " that deletion protection denied, dry runs left out.",
		}, append(labels, "mode"))
	}
	m := &Metrics{
		namespaces:  counter("namespace_deletion_protection", "Namespaces"),
		definitions: counter("crd_deletion_protection", "CustomResourceDefinitions"),
		workloads:   counter("workload_deletion_protection", "workloads, Services and Ingresses", "kind"),
	}
	for _, mode := range []string{Always, Cascading} {
		m.namespaces.WithLabelValues(mode)
		m.definitions.WithLabelValues(mode)
	}
	registry.MustRegister(m.namespaces, m.definitions, m.workloads)
	return m
}

// Denied counts a denial. Kinds are bounded by those that can be protected; those of one name in two groups, such as
// StatefulSet, count together.
func (m *Metrics) Denied(d Denial) {
	switch d.Kind.Kind {
	case "Namespace":
		m.namespaces.WithLabelValues(d.Mode).Inc()
	case "CustomResourceDefinition":
		m.definitions.WithLabelValues(d.Mode).Inc()
	default:
		m.workloads.WithLabelValues(d.Kind.Kind, d.Mode).Inc()
	}
}
