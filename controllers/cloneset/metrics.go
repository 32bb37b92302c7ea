package cloneset

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// registerLeaks is the counter of syncs that waited in vain for the cache to show the controller's own writes. One that is
// registered goes on: a process may run the controllers more than once.
func registerLeaks(registerer prometheus.Registerer) (*prometheus.CounterVec, error) {
	leaks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cloneset_scale_expectation_leakage",
		Help: "Syncs of a CloneSet that gave up waiting for the cache to show what the controller wrote, and read at the API server instead.",
	}, []string{"namespace", "name"})
	err := registerer.Register(leaks)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(*prometheus.CounterVec); ok {
			return existing, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("registering metrics of %s: %w", Name, err)
	}
	return leaks, nil
}
