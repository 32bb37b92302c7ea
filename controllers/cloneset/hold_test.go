package cloneset

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestPodsWaitForAdmission(t *testing.T) {
	w := newWorld(t)
	missing := errors.New("no ready replica has registered it yet")
	w.reconciler.Hold = NewHold(func() error { return missing })
	for range 5 {
		result := w.sync()
		if result.RequeueAfter <= 0 || result.RequeueAfter > 2*time.Second {
			t.Errorf("it looks again after %s", result.RequeueAfter)
		}
	}
	pods := &corev1.PodList{}
	w.must(w.List(t.Context(), pods))
	if len(pods.Items) > 0 {
		t.Fatalf("%d Pods were created", len(pods.Items))
	}
	var told []string
	for len(w.events.Events) > 0 {
		told = append(told, <-w.events.Events)
	}
	if len(told) != 1 || !strings.Contains(told[0], "WaitingForAdmission 3 Pods are to be created when admission works: no ready replica") {
		t.Errorf("events %q, want one that says why", told)
	}
	missing = nil
	w.sync()
	w.must(w.List(t.Context(), pods))
	if len(pods.Items) != 3 {
		t.Errorf("%d Pods when admission works, want 3", len(pods.Items))
	}
}

// TestWhileWaitingPodsGo has the rest of a CloneSet's work go on.
func TestWhileWaitingPodsGo(t *testing.T) {
	w := newWorld(t)
	w.sync()
	w.reconciler.Hold = NewHold(func() error { return errors.New("not yet") })
	w.edit(replicas(1))
	w.sync()
	pods := &corev1.PodList{}
	w.must(w.List(t.Context(), pods))
	if len(pods.Items) != 1 {
		t.Errorf("%d Pods after scaling in, want 1", len(pods.Items))
	}
}
