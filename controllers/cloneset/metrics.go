package cloneset

import "github.com/prometheus/client_golang/prometheus"

// newLeaks is the counter of syncs that waited in vain for the cache to show the controller's own writes.
func newLeaks() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cloneset_scale_expectation_leakage",
		Help: "Syncs of a CloneSet that gave up waiting for the cache to show what the controller wrote, and read at the API server instead.",
	}, []string{"namespace", "name"})
}
