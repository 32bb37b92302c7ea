// Package podevents registers controllers whose work is one Pod at a time, and which most Pods do not concern.
package podevents

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Controller is what a controller of Pods says of itself.
type Controller struct {
	// Name is in logs and metrics.
	Name string
	// Workers is how many Pods it works on at a time.
	Workers int
	// Concerns filters events: a Pod in whose state it has nothing to do never gets into the queue.
	Concerns func(*corev1.Pod) bool
}

// AddTo registers the controller with a manager. options gives limits; the number of workers is the controller's.
func (c Controller) AddTo(mgr manager.Manager, options controller.Options, work reconcile.Reconciler) error {
	options.MaxConcurrentReconciles = c.Workers
	concerned := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && c.Concerns(pod)
	})
	err := builder.ControllerManagedBy(mgr).Named(c.Name).WithOptions(options).
		For(&corev1.Pod{}, builder.WithPredicates(concerned)).Complete(work)
	if err != nil {
		return fmt.Errorf("adding controller %s: %w", c.Name, err)
	}
	return nil
}
