package launchpriority

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var again = reconcile.Result{RequeueAfter: conflictDelay}

// One write for each priority and one for the mark is what the protocol needs at least.
func TestALaunchTakesOneWriteForEachPriority(t *testing.T) {
	c := newCluster(podOf(2, 2, 1, 0))
	for _, step := range []struct {
		ready string
		keys  map[string]string
	}{
		{"", map[string]string{"p_2": "true"}},
		{"c0", map[string]string{"p_2": "true"}},
		{"c1", map[string]string{"p_2": "true", "p_1": "true"}},
		{"c2", map[string]string{"p_2": "true", "p_1": "true", "p_0": "true"}},
		{"c3", map[string]string{"p_2": "true", "p_1": "true", "p_0": "true"}},
	} {
		if step.ready != "" {
			c.setReady(t, step.ready, true)
		}
		for range 2 { // a doubled event
			if result := c.mustReconcile(t); result != (reconcile.Result{}) {
				t.Errorf("after %q ready: requeued (%+v), events suffice", step.ready, result)
			}
		}
		if diff := cmp.Diff(step.keys, c.barrier(t).Data); diff != "" {
			t.Errorf("after %q ready: %s", step.ready, diff)
		}
	}
	want := []string{"create *v1.ConfigMap", "patch *v1.ConfigMap", "patch *v1.ConfigMap", "patch *v1.Pod"}
	if diff := cmp.Diff(want, c.writes); diff != "" {
		t.Error(diff)
	}
	if pod := c.pod(t); pod.Annotations[done] != "true" {
		t.Errorf("the Pod is not marked: %v", pod.Annotations)
	}
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "pod-1"}}
	if diff := cmp.Diff(owner, c.barrier(t).OwnerReferences); diff != "" {
		t.Error(diff)
	}
}

func TestPodsThatAreLeftAlone(t *testing.T) {
	plain := podOf(1)
	plain.Spec.Containers[0].Env = nil
	for name, pod := range map[string]*corev1.Pod{
		"terminating": with(podOf(1, 0), terminating),
		"completed":   with(podOf(1, 0), annotated("true")),
		"failed":      with(podOf(1, 0), phase(corev1.PodFailed)),
		"unordered":   plain,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(pod)
			c.mustReconcile(t)
			if len(c.writes) > 0 || c.reads != 1 {
				t.Errorf("%d reads, writes %v; want the Pod read from the cache and nothing else", c.reads, c.writes)
			}
		})
	}
	t.Run("gone", func(t *testing.T) {
		c := newCluster()
		if result := c.mustReconcile(t); result != (reconcile.Result{}) || len(c.writes) > 0 {
			t.Errorf("result %+v, writes %v", result, c.writes)
		}
	})
}

func TestABarrierLeftBehindIsTakenOver(t *testing.T) {
	for name, left := range map[string]*corev1.ConfigMap{
		"an older Pod's": barrierOwned("pod-0", "p_1", "p_0", "p_9"),
		"a restored one": configMap("p_1", "p_0", "p_9"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(podOf(1, 0), left)
			c.mustReconcile(t)
			barrier := c.barrier(t)
			if diff := cmp.Diff(map[string]string{"p_1": "true"}, barrier.Data); diff != "" {
				t.Error(diff)
			}
			owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "pod-1"}}
			if diff := cmp.Diff(owner, barrier.OwnerReferences); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"patch *v1.ConfigMap"}, c.writes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnothersConfigMapStaysTheirs(t *testing.T) {
	theirs := configMap("settings")
	theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d"}}
	c := newCluster(podOf(1, 0), theirs.DeepCopy())
	c.mustReconcile(t)
	barrier := c.barrier(t)
	if diff := cmp.Diff(theirs.OwnerReferences, barrier.OwnerReferences); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"settings": "true", "p_1": "true"}, barrier.Data); diff != "" {
		t.Error(diff)
	}
}

// The cache still has the Pod that was replaced: its barrier is the new Pod's by now.
func TestALaggingCacheDoesNotTakeABarrierBack(t *testing.T) {
	replaced := newCluster(podOf(1, 0))
	now := podOf(1, 0)
	now.UID = "pod-2"
	live := newCluster(now, barrierOwned("pod-2", "p_1"))
	result, err := New(replaced, live).Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(now)})
	if err != nil || result != again {
		t.Errorf("result %+v, error %v; want a second look", result, err)
	}
	if len(live.writes) > 0 {
		t.Errorf("wrote %v", live.writes)
	}
}

func TestTakingOverHoldsForTheVersionThatWasRead(t *testing.T) {
	c := newCluster(podOf(1, 0), barrierOwned("pod-0", "p_1", "p_0"))
	stale := c.barrier(t)
	// Someone writes between our read and our patch.
	changed := stale.DeepCopy()
	changed.Labels = map[string]string{"x": "y"}
	if err := c.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	pod := c.pod(t)
	_, err := New(c, c).act(t.Context(), pod, stale, plan(pod, stale))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.barrier(t); got.OwnerReferences[0].UID != "pod-0" {
		t.Error("the barrier was taken over although it had changed")
	}
}

func TestAConfigMapBeingDeletedIsAwaited(t *testing.T) {
	leaving := barrierOwned("pod-1", "p_1")
	leaving.Finalizers = []string{"test/keep"}
	c := newCluster(podOf(1, 0), leaving)
	if err := c.Delete(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	if result := c.mustReconcile(t); result.RequeueAfter != awaitDelay || len(c.writes) > 0 {
		t.Errorf("result %+v, writes %v; want another look in %s", result, c.writes, awaitDelay)
	}
}

func TestErrorsOfWrites(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	wrongUID := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web", field.ErrorList{
		field.Invalid(field.NewPath("metadata", "uid"), "pod-1", "field is immutable"),
	})
	immutable := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "web-barrier", field.ErrorList{
		field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"),
	})
	ending := apierrors.NewForbidden(configMaps, "web-barrier", errors.New("namespace is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := []struct {
		name      string
		err       error
		lookAgain bool // silently; otherwise the error is shown and retried with growing delays
	}{
		{"another created it first", apierrors.NewAlreadyExists(configMaps, "web-barrier"), true},
		{"conflict", apierrors.NewConflict(configMaps, "web-barrier", errors.New("changed")), true},
		{"gone", apierrors.NewNotFound(configMaps, "web-barrier"), true},
		{"the UID is another's", wrongUID, true},
		{"the namespace is going", ending, true},
		{"not allowed", apierrors.NewForbidden(configMaps, "web-barrier", errors.New("no")), false},
		{"immutable", immutable, false},
		{"the API server is away", errors.New("connection refused"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(podOf(0, 0))
			c.fail = func(int) error { return tt.err }
			result, err := c.reconcile(t.Context())
			if tt.lookAgain && (err != nil || result != again) {
				t.Errorf("result %+v, error %v; want another look", result, err)
			}
			if !tt.lookAgain && !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if len(c.writes) != 1 {
				t.Errorf("after the failure it wrote on: %v", c.writes)
			}
			c.fail = nil
			c.mustReconcile(t)
			if c.pod(t).Annotations[done] != "true" || c.barrier(t) == nil {
				t.Error("the next look does not lead on")
			}
		})
	}
}
