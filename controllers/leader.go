package controllers

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// leaderGauge says whether this process is the one that acts. Losing the lead ends the process, so it never falls.
type leaderGauge struct {
	prometheus.Gauge
}

// addLeaderGauge serves kruise_manager_is_leader (webhook-server.md §4), 0 or 1.
func addLeaderGauge(mgr manager.Manager) error {
	gauge := leaderGauge{prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kruise_manager_is_leader",
		Help: "Whether this process is the leader, whose controllers act (1), or stands by (0).",
	})}
	if err := mgr.Add(gauge); err != nil {
		return fmt.Errorf("adding the leader metric: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(func(context.Context) error {
		gauge.Set(1) // a runnable without a word on it is run by the leader only
		return nil
	}))
}

// NeedLeaderElection is false: the metric is there in every process.
func (leaderGauge) NeedLeaderElection() bool { return false }

// Start registers the gauge while the process runs.
func (g leaderGauge) Start(ctx context.Context) error {
	if err := metrics.Registry.Register(g); err != nil {
		return fmt.Errorf("registering the leader metric: %w", err)
	}
	<-ctx.Done()
	metrics.Registry.Unregister(g)
	return nil
}
