package cloneset

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// stale makes the cache show the Pods and claims of now for ever; reads of single objects too. Writes are not affected.
func (w *world) stale() {
	w.Helper()
	pods, claims := &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}
	w.must(w.List(w.Context(), pods, client.InNamespace("ns")))
	w.must(w.List(w.Context(), claims, client.InNamespace("ns")))
	w.reconciler.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			switch list := list.(type) {
			case *corev1.PodList:
				pods.DeepCopyInto(list)
				return nil
			case *corev1.PersistentVolumeClaimList:
				claims.DeepCopyInto(list)
				return nil
			default:
				return c.List(ctx, list, opts...)
			}
		},
	})
}

// pass reconciles a number of times, each when it is due, and tells for how long. It stops when none is due.
func (w *world) pass(n int) (took time.Duration, rests bool) {
	w.Helper()
	for range n {
		result, err := w.reconcile()
		w.must(err)
		if result.RequeueAfter == 0 {
			return took, true
		}
		took += result.RequeueAfter
		w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
	}
	return took, false
}

// TestAConflictThatRepeatsIsNotWaitedOut has the cache miss a change of a Pod for good.
func TestAConflictThatRepeatsIsNotWaitedOut(t *testing.T) {
	w := newWorld(t, inPlace, replicas(1), limits("0", "1", "0"))
	w.settle()
	w.stale()
	w.editPod("web-id001", func(p *corev1.Pod) { p.Labels["touched"] = "true" })
	w.edit(image("web:2"))
	took, _ := w.pass(4)
	if n := w.byImage()["web:2"]; n != 1 || took > 10*time.Second {
		t.Errorf("%d Pods are updated after %s; writes %v", n, took, w.writes)
	}
}

// TestRacesOfManyPodsAreNoDoubt has others write to Pods just before each sync does, and then the cache not show that.
func TestRacesOfManyPodsAreNoDoubt(t *testing.T) {
	w := newWorld(t, inPlace)
	w.sync()
	w.sync()
	w.kubelet()
	refused := 0
	w.fail = func(verb string, obj client.Object) error {
		if _, isPod := obj.(*corev1.Pod); isPod && verb == "status" {
			refused++
			return apierrors.NewConflict(corev1.Resource("pods"), obj.GetName(), errors.New("the object has been modified"))
		}
		return nil
	}
	trusts := func() bool { return w.reconciler.memory.trusts(key(w.set())) }
	for i := range 4 {
		w.sync()
		if refused != 3*(i+1) || !trusts() {
			t.Fatalf("after %d refusals of new versions the cache is trusted: %v", refused, trusts())
		}
		for _, pod := range w.pods() {
			w.editPod(pod.Name, func(p *corev1.Pod) { p.Labels["written"] = strconv.Itoa(i) })
		}
	}
	w.sync()
	if w.sync(); trusts() {
		t.Error("a cache that goes on to show an old version is trusted")
	}
}

// TestAGhostIsNotDeletedForEver has the cache show a Pod, or a claim, for good that is gone.
func TestAGhostIsNotDeletedForEver(t *testing.T) {
	for name, test := range map[string]struct {
		scale int32
		gone  func(w *world) client.Object
		kind  string
	}{
		"a Pod":   {1, func(w *world) client.Object { return w.pods()[1] }, "delete Pod"},
		"a claim": {2, func(w *world) client.Object { return &w.claims()[1] }, "delete PersistentVolumeClaim"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, replicas(2), claims("1Gi"))
			w.settle()
			if name == "a claim" {
				w.must(w.Delete(t.Context(), w.pods()[1]))
			}
			w.stale()
			gone := test.gone(w)
			w.must(w.Delete(t.Context(), gone))
			w.edit(replicas(test.scale))
			w.writes, w.events.Events = nil, make(chan string, 1000)
			w.pass(20)
			n := len(slices.DeleteFunc(slices.Clone(w.writes), func(write string) bool { return write != test.kind }))
			if n > 3 {
				t.Errorf("it tried %d times to delete what is gone", n)
			}
			for _, e := range w.eventsNow() {
				if e == "Normal SuccessfulDelete deleted Pod "+gone.GetName() {
					t.Errorf("event %q of a Pod that someone else deleted", e)
				}
			}
		})
	}
}

// untilRolledOut syncs, with the kubelet acting in between, up to the sync whose status says that the rollout has ended.
// Nothing wakes the CloneSet after it.
func (w *world) untilRolledOut() {
	w.Helper()
	for range 50 {
		w.kubelet()
		w.sync()
		if s := w.set().Status; s.CurrentRevision == s.UpdateRevision && s.ObservedGeneration == w.set().Generation {
			return
		}
	}
	w.Fatalf("it is never rolled out; the status is %+v", w.set().Status)
}

func TestTheEndOfARolloutTidiesUp(t *testing.T) {
	none := int32(0)
	w := newWorld(t, inPlace, replicas(4), limits("0", "2", "0"), func(s *cloneSet) { s.Spec.RevisionHistoryLimit = &none })
	w.reconciler.PreDownload = true
	w.settle()
	w.edit(image("web:2"))
	w.sync()
	if len(w.jobs()) != 1 || len(w.revisions()) != 2 {
		t.Fatalf("at the beginning there are %d jobs and %d revisions, want 1 and 2", len(w.jobs()), len(w.revisions()))
	}
	w.untilRolledOut()
	if len(w.jobs()) != 0 || len(w.revisions()) != 1 {
		t.Errorf("in the end there are %d jobs and %d revisions, want 0 and 1", len(w.jobs()), len(w.revisions()))
	}
}

// TestImagesArePulledOnceSomePodsAreUpdated looks at the sync that first counts as many updated Pods that are ready as the
// CloneSet asks for.
func TestImagesArePulledOnceSomePodsAreUpdated(t *testing.T) {
	two := int32(2)
	w := newWorld(t, inPlace, replicas(6), limits("4", "1", "0"), rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy) {
		r.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{ImagePreDownloadMinUpdatedReadyPods: &two}
	}))
	w.reconciler.PreDownload = true
	w.settle()
	w.edit(image("web:2"))
	for range 20 {
		w.kubelet()
		w.sync()
		if ready := w.set().Status.UpdatedReadyReplicas; (ready >= 2) != (len(w.jobs()) == 1) {
			t.Fatalf("with %d updated Pods ready there are %d jobs", ready, len(w.jobs()))
		}
	}
	if len(w.jobs()) != 1 {
		t.Errorf("%d jobs in the end", len(w.jobs()))
	}
}

// A kubelet writes about one of the Pods whose deletion is prepared, or taken back: that is no reason to leave the others.
func TestARaceAboutOnePodDoesNotStopScaling(t *testing.T) {
	for name, test := range map[string]struct {
		before, after int32
		state         string
	}{
		"prepared": {4, 0, "PreparingDelete"},
		"kept":     {0, 4, "PreparingNormal"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, replicas(4), preDelete, func(s *cloneSet) { s.Spec.ScaleStrategy.MaxUnavailable = amount("100%") })
			w.settle()
			w.edit(replicas(test.before))
			w.syncs(3)
			raced := ""
			w.fail = func(verb string, obj client.Object) error {
				if _, isPod := obj.(*corev1.Pod); !isPod || verb != "patch" || raced != "" && raced != obj.GetName() {
					return nil
				}
				raced = obj.GetName()
				return apierrors.NewConflict(corev1.Resource("pods"), raced, errors.New("the object has been modified"))
			}
			w.edit(replicas(test.after))
			w.writes = nil
			if _, err := w.reconcile(); err != nil {
				t.Fatal(err)
			}
			if got := w.inState(test.state); len(got) != 3 || slices.Contains(got, raced) {
				t.Errorf("%v are %s after a race about %s, want the other three; the writes are %v", got, test.state, raced, w.writes)
			}
			if !w.reconciler.memory.trusts(w.key) {
				t.Error("a race about a Pod costs the trust in the cache")
			}
		})
	}
}
