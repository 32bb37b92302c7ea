package cloneset

import (
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// TestACollisionIsFollowedUp waits for no event: the status, which a collision changes, wakes nobody.
func TestACollisionIsFollowedUp(t *testing.T) {
	w := newWorld(t)
	w.settle()
	name := w.set().Status.UpdateRevision
	other := newWorld(t)
	taken := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: runtime.RawExtension{Raw: []byte(`{}`)}}
	other.must(other.Create(t.Context(), taken))
	result := other.sync()
	if n := *other.set().Status.CollisionCount; n != 1 || len(other.pods()) != 0 || result.RequeueAfter <= 0 || result.RequeueAfter > lookAgain {
		t.Errorf("after the collision: count %d, %d Pods, next sync in %v; want one, none, and soon", n, len(other.pods()), result.RequeueAfter)
	}
}

// TestAMissingClaimComesBack is for a Pod that was created when its claim had been taken for an orphan already.
func TestAMissingClaimComesBack(t *testing.T) {
	w := newWorld(t, claims("1Gi"), replicas(2))
	w.sync()
	first := w.claimNames()
	if len(first) != 2 {
		t.Fatalf("claims %v, want two", first)
	}
	lost := w.claims()[0]
	w.must(w.Delete(t.Context(), &lost))
	w.sync()
	if got := w.claimNames(); !slices.Equal(got, first) {
		t.Errorf("claims %v, want %v", got, first)
	}
	w.settle()
	lost = w.claims()[0]
	w.must(w.Delete(t.Context(), &lost))
	w.settle()
	if got := w.claimNames(); len(got) != 1 {
		t.Errorf("claims %v of Pods that run; want no new one", got)
	}
}

// TestAGateIsNotOpenedToBeClosed has the change of a Pod fail whose gate is closed already.
func TestAGateIsNotOpenedToBeClosed(t *testing.T) {
	w := newWorld(t, inPlace, replicas(1), limits("0", "1", "0"))
	w.settle()
	failures := attempts
	w.fail = func(verb string, obj client.Object) error {
		if _, isPod := obj.(*corev1.Pod); isPod && verb == "patch" && failures > 0 {
			failures--
			return apierrors.NewConflict(corev1.Resource("pods"), obj.GetName(), errors.New("changed meanwhile"))
		}
		return nil
	}
	w.edit(image("web:2"))
	w.sync()
	w.writes = nil
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"status Pod", "patch Pod"}; len(w.writes) < 2 || !slices.Equal(w.writes[:2], want) || slices.Contains(w.writes[2:], "status Pod") {
		t.Errorf("writes %v, want %v first: close, change", w.writes, want)
	}
}

// TestTheKubeletsReportDoesNotEndAChange has the kubelet write to a Pod between the closing of its gate and its change.
func TestTheKubeletsReportDoesNotEndAChange(t *testing.T) {
	w := newWorld(t, inPlace, replicas(1), limits("0", "1", "0"))
	w.settle()
	reported := false
	w.fail = func(verb string, obj client.Object) error {
		if pod, isPod := obj.(*corev1.Pod); isPod && verb == "patch" && !reported {
			reported = true
			return apierrors.NewConflict(corev1.Resource("pods"), pod.Name, errors.New("changed meanwhile"))
		}
		return nil
	}
	w.writes = nil
	w.edit(image("web:2"))
	w.sync()
	if want := []string{"create ControllerRevision", "status Pod", "patch Pod", "patch Pod", "status CloneSet"}; !slices.Equal(w.writes, want) {
		t.Errorf("writes %v, want %v", w.writes, want)
	}
}

// TestOnePodsRaceIsNotAllPods has another writer win at one of the Pods that are to be put in service.
func TestOnePodsRaceIsNotAllPods(t *testing.T) {
	w := newWorld(t, replicas(40))
	w.sync()
	w.kubelet()
	loses := w.pods()[0].Name
	w.fail = func(verb string, obj client.Object) error {
		if verb == "status" && obj.GetName() == loses {
			return apierrors.NewConflict(corev1.Resource("pods"), loses, errors.New("changed meanwhile"))
		}
		return nil
	}
	w.sync()
	w.kubelet()
	if got := w.trace(); got != "40/0/39/40" { // of a second revision there is none
		t.Errorf("it goes %s, want all ready but the one", got)
	}
}

// TestNoPodWaitsForThousands has writes take so long that the Pods wanted take many syncs.
func TestNoPodWaitsForThousands(t *testing.T) {
	w := newWorld(t, replicas(1000))
	w.fail = func(verb string, _ client.Object) error {
		if verb == "create" { // one at a time: the note of writes is locked
			w.clock.SetTime(w.clock.Now().Add(10 * time.Millisecond))
		}
		return nil
	}
	w.sync()
	created := len(w.pods())
	if created < 80 || created > 170 {
		t.Fatalf("%d Pods were created in a second of which each takes 10 ms", created)
	}
	if got := int(w.set().Status.Replicas); got != 0 {
		t.Errorf("the status has %d of them, of before this sync", got)
	}
	w.kubelet()
	w.sync()
	w.kubelet()
	ready := 0
	for _, pod := range w.pods() {
		if podstate.Ready(pod) {
			ready++
		}
	}
	if ready != created || len(w.pods()) <= created {
		t.Errorf("%d Pods are ready, want the first %d; there are %d", ready, created, len(w.pods()))
	}
}

// TestANewPodIsLeftAloneUntilItsKubeletReports counts what is written to a Pod before and after.
func TestANewPodIsLeftAloneUntilItsKubeletReports(t *testing.T) {
	w := newWorld(t, replicas(1))
	w.sync()
	name := w.pods()[0].Name
	w.writes = nil
	for _, step := range []func(*corev1.Pod){
		func(*corev1.Pod) {},
		func(pod *corev1.Pod) { pod.Spec.NodeName = "node" },
	} {
		w.editPod(name, step)
		w.sync()
	}
	if slices.Contains(w.writes, "status Pod") || slices.Contains(w.writes, "patch Pod") {
		t.Errorf("before the kubelet's report: %v", w.writes)
	}
	w.writes = nil
	w.editPod(name, func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
	})
	w.sync()
	if pod := w.pods()[0]; !slices.Equal(w.writes[:1], []string{"status Pod"}) || slices.Contains(w.writes, "patch Pod") ||
		pod.Labels["lifecycle.apps.kruise.io/state"] != "Normal" || !podstate.IsTrue(pod, "InPlaceUpdateReady") {
		t.Errorf("after it: %v, and the Pod is %v with %v", w.writes, pod.Labels, pod.Status.Conditions)
	}
}
