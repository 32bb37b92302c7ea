package controllers

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/internal/gauge"
)

// addLeaderGauge serves kruise_manager_is_leader (webhook-server.md §4), 0 or 1: whether this process is the one that acts.
// Losing the lead ends the process, so it never falls.
func addLeaderGauge(mgr manager.Manager) error {
	leads := gauge.One("kruise_manager_is_leader", "Whether this process is the leader, whose controllers act (1), or stands by (0).")
	if err := mgr.Add(served{leads}); err != nil {
		return fmt.Errorf("adding the leader metric: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(func(context.Context) error {
		leads.Set(1) // a runnable without a word on it is run by the leader only
		return nil
	}))
}

// served is a metric of a manager, whether it leads or not. A process may run one after another.
type served struct{ metric prometheus.Collector }

// NeedLeaderElection is false: the metric is there in every process.
func (served) NeedLeaderElection() bool { return false }

// Start registers the metric while the manager runs.
func (s served) Start(ctx context.Context) error {
	if err := metrics.Registry.Register(s.metric); err != nil {
		return fmt.Errorf("registering a metric of the controllers: %w", err)
	}
	<-ctx.Done()
	metrics.Registry.Unregister(s.metric)
	return nil
}
