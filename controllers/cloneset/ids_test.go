package cloneset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func refusedByQuota(obj client.Object) error {
	return apierrors.NewForbidden(corev1.Resource("objects"), obj.GetName(), errors.New("exceeded quota"))
}

// refuse makes creations fail of Pods, or of claims.
func (w *world) refuse(pods, claims bool) {
	w.fail = func(verb string, obj client.Object) error {
		_, isPod := obj.(*corev1.Pod)
		_, isClaim := obj.(*corev1.PersistentVolumeClaim)
		if verb == "create" && (pods && isPod || claims && isClaim) {
			return refusedByQuota(obj)
		}
		return nil
	}
}

// TestARefusedPodKeepsItsClaim has a quota refuse a Pod for some time.
func TestARefusedPodKeepsItsClaim(t *testing.T) {
	for name, edit := range map[string]setEdit{"claims are reused": reuse, "claims are not reused": func(*cloneSet) {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, replicas(1), claims("1Gi"), edit)
			w.settle()
			w.refuse(true, false)
			w.edit(replicas(2))
			for range 5 {
				if _, err := w.reconcile(); !apierrors.IsForbidden(errors.Unwrap(err)) && err == nil {
					t.Fatalf("the error is %v", err)
				}
				if diff := cmp.Diff([]string{"data-web-id001", "data-web-id002"}, w.claimNames()); diff != "" {
					t.Fatalf("claims: %s", diff)
				}
			}
			w.fail = nil
			w.settle()
			if diff := cmp.Diff([]string{"web-id001", "web-id002"}, w.live()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTheClaimOfARefusedPodGoes has the replicas lowered before the Pod is made. It goes in both modes: nobody has used
// it.
func TestTheClaimOfARefusedPodGoes(t *testing.T) {
	for name, edit := range map[string]setEdit{"claims are reused": reuse, "claims are not reused": func(*cloneSet) {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, replicas(1), claims("1Gi"), edit)
			w.settle()
			w.refuse(true, false)
			w.edit(replicas(2))
			_, _ = w.reconcile()
			w.edit(replicas(1))
			w.settle()
			if diff := cmp.Diff([]string{"data-web-id001"}, w.claimNames()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestANameThatIsTakenIsGivenUp has somebody else create a Pod of the name that was refused.
func TestANameThatIsTakenIsGivenUp(t *testing.T) {
	w := newWorld(t, replicas(1), claims("1Gi"))
	w.refuse(true, false)
	_, _ = w.reconcile()
	w.fail = nil
	theirs := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-id001"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
	w.must(w.Create(t.Context(), theirs))
	if _, err := w.reconcile(); !apierrors.IsAlreadyExists(errors.Unwrap(err)) && err == nil {
		t.Fatalf("the error is %v", err)
	}
	w.settle()
	if diff := cmp.Diff([]string{"data-web-id002"}, w.claimNames()); diff != "" || !slices.Contains(w.live(), "web-id002") {
		t.Errorf("Pods %v, claims: %s", w.live(), diff)
	}
}

// TestIDsAreOfOneCloneSet has a CloneSet deleted whose Pod was refused, and another one made of its name: what the first
// has made is being collected.
func TestIDsAreOfOneCloneSet(t *testing.T) {
	w := newWorld(t, replicas(1), claims("1Gi"))
	w.refuse(true, false)
	_, _ = w.reconcile()
	w.fail = nil
	w.must(w.Delete(t.Context(), w.set()))
	w.must(w.Delete(t.Context(), &w.revisions()[0]))
	w.must(w.Create(t.Context(), newSet(replicas(1), claims("1Gi"), func(s *cloneSet) { s.UID = "another" })))
	w.settle()
	if diff := cmp.Diff([]string{"web-id002"}, w.live()); diff != "" {
		t.Error(diff)
	}
}

// TestDoubtsAreLookedIntoEverMoreRarely has a cache that never shows a Pod.
func TestDoubtsAreLookedIntoEverMoreRarely(t *testing.T) {
	w := newWorld(t, replicas(1))
	w.settle()
	w.reconciler.memory.distrust(key(w.set()))
	catchUp := w.lag()
	w.must(w.Create(t.Context(), foreignPodOf(w)))
	w.settle()
	var delays []time.Duration
	for range 9 {
		delays = append(delays, w.sync().RequeueAfter/time.Second)
	}
	if want := delays[0]; want < 1 || want > 4 {
		t.Errorf("at first it looks again after %d s", want)
	}
	for i := 1; i < len(delays); i++ {
		if delays[i] != min(2*delays[i-1], 60) {
			t.Errorf("delays are %v s, want each twice the one before, 60 at most", delays)
		}
	}
	catchUp()
	if w.sync(); w.sync().RequeueAfter != 0 {
		t.Error("it goes on to look when the cache has caught up")
	}
	w.reconciler.memory.distrust(key(w.set()))
	if got := w.reconciler.memory.doubtDelay(key(w.set())); got != time.Second {
		t.Errorf("a new doubt begins with %s", got)
	}
}

// foreignPodOf is another Pod of the CloneSet, in place of the one that is deleted for it.
func foreignPodOf(w *world) *corev1.Pod {
	w.Helper()
	old := w.pods()[0]
	w.must(w.Delete(w.Context(), old))
	again := old.DeepCopy()
	again.Name, again.ResourceVersion, again.UID = "web-again", "", "uid-again"
	again.Labels["apps.kruise.io/cloneset-instance-id"] = "again"
	return again
}

// TestNothingIsLeftOver lets creations of claims and Pods fail in any order and any way, and the controller stop in
// between: each Pod ends with its claims, and there are no others.
func TestNothingIsLeftOver(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, replicas(0), claims("1Gi"), func(s *cloneSet) {
			log := s.Spec.VolumeClaimTemplates[0].DeepCopy()
			log.Name = "log"
			s.Spec.VolumeClaimTemplates = append(s.Spec.VolumeClaimTemplates, *log)
		})
		reused := rapid.Bool().Draw(rt, "reuse")
		if reused {
			w.edit(reuse)
		}
		f := &failures{rt: rt, attempted: map[string]bool{}}
		crashed := f.run(w)
		w.settle()
		f.check(w, crashed, reused)
	})
}

// failures are how creations fail.
type failures struct {
	rt *rapid.T
	// attempted are the names of Pods that were to be created.
	attempted map[string]bool
}

var errLostAnswer = errors.New("http2: client connection lost")

// run syncs while creations fail; it tells whether a process stopped meanwhile.
func (f *failures) run(w *world) (crashed bool) {
	sound := w.reconciler.Options
	n := int32(0)
	for step := range rapid.IntRange(1, 5).Draw(f.rt, "syncs") {
		more := n + rapid.Int32Range(0, 2).Draw(f.rt, fmt.Sprintf("more replicas in %d", step))
		if more != n {
			n = more
			w.edit(replicas(n))
		}
		broken := sound
		broken.Client = f.client(w, rapid.SampledFrom([]string{"none", "refused", "lost", "not done"}).Draw(f.rt, fmt.Sprintf("failures in %d", step)))
		if rapid.IntRange(0, 4).Draw(f.rt, fmt.Sprintf("crash before %d", step)) == 0 {
			crashed, w.reconciler = true, New(broken)
		}
		w.reconciler.Options = broken
		w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
		_, _ = w.reconcile() // it fails, or does not
		w.kubelet()
	}
	w.reconciler.Options = sound
	return crashed
}

// client is one by which creations fail after so many.
func (f *failures) client(w *world, how string) client.Client {
	after := rapid.IntRange(0, 6).Draw(f.rt, "after")
	return interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			w.mutex.Lock()
			if _, isPod := obj.(*corev1.Pod); isPod {
				f.attempted[obj.GetName()] = true
			}
			after--
			fails := after < 0
			w.mutex.Unlock()
			switch {
			case !fails || how == "none":
				return c.Create(ctx, obj, opts...)
			case how == "refused":
				return refusedByQuota(obj)
			case how == "lost":
				return errors.Join(c.Create(ctx, obj, opts...), errLostAnswer)
			default:
				return errLostAnswer
			}
		},
	})
}

func (f *failures) check(w *world, crashed, reused bool) {
	have, want := w.claimNames(), []string(nil)
	for _, pod := range w.live() {
		want = append(want, "data-"+pod, "log-"+pod)
	}
	slices.Sort(have)
	slices.Sort(want)
	if reused && crashed {
		// A process that starts cannot know of a claim that its Pod has never been: it keeps it for the next one.
		have = slices.DeleteFunc(have, func(c string) bool { return !slices.Contains(want, c) })
	}
	if diff := cmp.Diff(want, have); diff != "" {
		f.rt.Errorf("claims: %s", diff)
	}
	if n := int(*w.set().Spec.Replicas); len(w.live()) != n {
		f.rt.Errorf("%d Pods, want %d", len(w.live()), n)
	}
	if !crashed && len(f.attempted) > len(w.live()) {
		f.rt.Errorf("names %v were tried for the Pods %v", f.attempted, w.live())
	}
}

// TestClaimsOfADeletedPodAreNotReused has the claims of a Pod that was deleted outlive it: the API server was away, or the
// answer to the deletion was lost.
func TestClaimsOfADeletedPodAreNotReused(t *testing.T) {
	for name, away := range map[string]func(kind, verb string) (carriedOut bool, err error){
		"the claim could not be deleted": func(kind, verb string) (bool, error) {
			return false, map[bool]error{true: errLostAnswer}[kind == "PersistentVolumeClaim" && verb == "delete"]
		},
		"the Pod's deletion had no answer": func(kind, verb string) (bool, error) {
			return true, map[bool]error{true: errLostAnswer}[kind == "Pod" && verb == "delete"]
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, replicas(1), claims("1Gi"), reuse)
			w.settle()
			w.editPod("web-id001", func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "true" })
			sound := w.reconciler.Client
			w.reconciler.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
					kind := map[bool]string{true: "Pod", false: "PersistentVolumeClaim"}[obj.GetName() == "web-id001"]
					carriedOut, err := away(kind, "delete")
					if err == nil || carriedOut {
						err = errors.Join(err, c.Delete(ctx, obj, opts...))
					}
					return err
				},
			})
			if _, err := w.reconcile(); err == nil || len(w.live()) != 0 {
				t.Fatalf("error %v, Pods %v", err, w.live())
			}
			w.reconciler.Client = sound
			w.settle()
			if diff := cmp.Diff([]string{"data-web-id002"}, w.claimNames()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestADeletionThatFailedIsForgotten has the Pod live on, and somebody else delete it later: then its claim is reused.
func TestADeletionThatFailedIsForgotten(t *testing.T) {
	w := newWorld(t, replicas(2), claims("1Gi"), reuse)
	w.settle()
	w.edit(replicas(1))
	w.fail = func(verb string, obj client.Object) error {
		if _, isPod := obj.(*corev1.Pod); isPod && verb == "delete" {
			return refusedByQuota(obj)
		}
		return nil
	}
	_, _ = w.reconcile()
	w.fail = nil
	for _, pod := range w.pods() {
		w.editPod(pod.Name, func(p *corev1.Pod) { delete(p.Labels, "apps.kruise.io/specified-delete") })
	}
	w.edit(replicas(2))
	w.settle()
	for _, pod := range w.pods() {
		w.must(w.Delete(t.Context(), pod))
	}
	w.settle()
	if diff := cmp.Diff([]string{"web-id001", "web-id002"}, w.live()); diff != "" {
		t.Error(diff)
	}
}
