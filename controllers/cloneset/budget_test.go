package cloneset

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestABudgetIsAskedBeforeAnUpdateInPlace has one that allows a single Pod.
func TestABudgetIsAskedBeforeAnUpdateInPlace(t *testing.T) {
	w := newWorld(t, replicas(4), inPlace, limits("0", "4", "0"))
	w.settle()
	units := 1
	w.reconciler.Budget = func(_ context.Context, _ *corev1.Pod) (bool, string, error) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		units--
		return units >= 0, "exhausted", nil
	}
	w.edit(image("web:2"))
	result := w.sync()
	if got := w.byImage()["web:2"]; got != 1 || result.RequeueAfter <= 0 || result.RequeueAfter > time.Second || len(w.set().Status.Conditions) != 0 {
		t.Errorf("%d Pods are updated, it comes again in %s, conditions %v", got, result.RequeueAfter, w.set().Status.Conditions)
	}
	ready := 0
	for _, pod := range w.pods() {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready != 3 {
		t.Errorf("%d Pods are ready, want those that were refused left in service", ready)
	}
	away := errors.New("the API server is away")
	w.reconciler.Budget = func(context.Context, *corev1.Pod) (bool, string, error) { return false, "", away }
	w.kubelet()
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	if _, err := w.reconcile(); !errors.Is(err, away) {
		t.Errorf("a budget that cannot be asked is %v", err)
	}
	w.reconciler.Budget = func(context.Context, *corev1.Pod) (bool, string, error) { return true, "", nil }
	w.settle()
	if got := w.byImage()["web:2"]; got != 4 {
		t.Errorf("%d Pods are updated", got)
	}
}

// TestABudgetIsAskedBeforeAnythingElse has one that is exhausted: neither is a hook asked to drain a Pod that then could not
// be updated, nor is a Pod deleted.
func TestABudgetIsAskedBeforeAnythingElse(t *testing.T) {
	for name, edits := range map[string][]setEdit{
		"recreate": {}, "recreate, with a hook": {preDelete}, "a hook of updates": {inPlace, inPlaceHook(true)},
	} {
		w := newWorld(t, edits...)
		w.settle()
		before := w.live()
		w.reconciler.Budget = func(context.Context, *corev1.Pod) (bool, string, error) { return false, "exhausted", nil }
		w.edit(image("web:2"))
		w.sync()
		w.writes = nil
		result := w.sync()
		if len(w.writes) > 0 || result.RequeueAfter <= 0 || result.RequeueAfter > time.Second || !slices.Equal(w.live(), before) || len(w.inState("Normal")) != 3 {
			t.Errorf("%s: it writes %v and comes again in %s; in service are %v", name, w.writes, result.RequeueAfter, w.inState("Normal"))
		}
		if len(w.set().Status.Conditions) > 0 {
			t.Errorf("%s: conditions are %v", name, w.set().Status.Conditions)
		}
	}
}
