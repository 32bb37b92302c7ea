package perturb

import (
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Long are the faults of P13 to P19 that concern any workload of Pods.
func Long() []Fault {
	return slices.Concat(stuck(), podFaults(), nodeFaults(), clocks(), refusals(), strangers())
}

func stuck() []Fault {
	return []Fault{
		// A node that is gone: a Pod that is deleted stays for ever.
		{ID: "P13", Applies: deletes("Pod"), OtherCounts: true, Do: func(r *Run, _ *Process, c *Call) verdict {
			_ = r.server.Edit(c.Key, func(obj client.Object) {
				metav1.SetMetaDataAnnotation(&obj.(*corev1.Pod).ObjectMeta, Stuck, "true")
			})
			return verdict{}
		}},
		{ID: "P13.held", Applies: deletes("Pod"), OtherCounts: true, Do: heldForEver},
		// A claim that some Pod still mounts.
		{ID: "P13.claim", Applies: deletes("PersistentVolumeClaim"), OtherCounts: true, Do: heldForEver},
	}
}

// heldForEver gives the object of a write a finalizer that nobody removes.
func heldForEver(r *Run, _ *Process, c *Call) verdict {
	_ = r.server.Edit(c.Key, func(obj client.Object) { obj.SetFinalizers(append(obj.GetFinalizers(), "perturb.test/held")) })
	return verdict{}
}

func podFaults() []Fault {
	return []Fault{
		{ID: "P14.failed", Applies: always, OtherCounts: true, Do: onPod(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })},
		{ID: "P14.evicted", Applies: always, OtherCounts: true, Do: func(r *Run, _ *Process, c *Call) verdict {
			if pod := target(r, c); pod != nil {
				_ = r.server.Delete(r.server.KeyOf(pod), &client.DeleteOptions{})
			}
			return verdict{}
		}},
		{ID: "P14.flaps", Applies: always, Do: onPod(func(pod *corev1.Pod) {
			for i := range pod.Status.ContainerStatuses {
				pod.Status.ContainerStatuses[i].State = corev1.ContainerState{}
				pod.Status.ContainerStatuses[i].Ready = false
			}
		})},
	}
}

func clocks() []Fault {
	skewed := func(by time.Duration) func(*Run, *Process, *Call) verdict {
		return func(r *Run, _ *Process, _ *Call) verdict {
			r.skew = by
			return verdict{}
		}
	}
	return []Fault{
		{ID: "P17.ahead", Applies: always, Do: func(r *Run, _ *Process, _ *Call) verdict {
			r.advanceTo(r.now().Add(time.Hour))
			return verdict{}
		}},
		{ID: "P17.fast", Applies: always, Do: skewed(10 * time.Minute)},
		{ID: "P17.slow", Applies: always, Do: skewed(-10 * time.Minute)},
	}
}

// refusalTime is how long creations are refused: a quota is raised by people.
const refusalTime = 5 * time.Minute

func refusals() []Fault {
	third := func(which func(*Call) bool, why func(*Call) error) func(*Run, *Process, *Call) verdict {
		return refuses(func(c *Call, n int) error {
			if n%3 == 0 && which(c) {
				return why(c)
			}
			return nil
		})
	}
	return []Fault{
		{ID: "P18.quota", Applies: creates, Do: third(creates, overQuota)},
		{ID: "P18.full", Applies: createsPods, Do: func(r *Run, _ *Process, c *Call) verdict {
			until := r.now().Add(refusalTime)
			r.refuse = func(c *Call) error {
				if createsPods(c) && r.now().Before(until) {
					return overQuota(c)
				}
				return nil
			}
			return verdict{instead: overQuota(c)}
		}},
		{ID: "P18.webhook", Applies: onPods, Do: third(onPods, func(*Call) error {
			return apierrors.NewInternalError(errors.New("failed calling webhook: context deadline exceeded"))
		})},
		{ID: "P18.denied", Applies: onPods, Do: third(onPods, func(c *Call) error {
			return apierrors.NewForbidden(groupResource(c), c.Key.Name, errors.New("admission webhook denied the request"))
		})},
		{ID: "P18.timeout", Applies: always, Do: third(always, func(c *Call) error {
			return apierrors.NewServerTimeout(groupResource(c), c.Verb, 1)
		})},
		{ID: "P18.busy", Applies: always, Do: refuses(func(_ *Call, n int) error {
			if n%3 == 0 && n < 20 {
				return apierrors.NewTooManyRequests("the server is busy", 1)
			}
			return nil
		})},
	}
}

func overQuota(c *Call) error { return apierrors.NewForbidden(groupResource(c), c.Key.Name, errQuota) }

func onPods(c *Call) bool      { return c.Key.Kind.Kind == "Pod" }
func createsPods(c *Call) bool { return onPods(c) && creates(c) }

func deletes(kind string) func(*Call) bool {
	return func(c *Call) bool { return c.Verb == "delete" && c.Key.Kind.Kind == kind }
}

func strangers() []Fault {
	return []Fault{
		// An older version of the parent's API made the references.
		{ID: "P19", Applies: always, Do: func(r *Run, _ *Process, _ *Call) verdict {
			for _, pod := range r.server.Pods() {
				_ = r.server.Edit(r.server.KeyOf(pod), func(obj client.Object) { olderOwner(obj, r.workload.Parent.Kind) })
			}
			return verdict{}
		}},
		{ID: "P19.marked", Applies: always, Do: markPods},
	}
}

// Edited is a fault that has the user edit the parent, or its Pods, in the middle of something. undone tells that they
// put the parent's spec back later, when nothing else is left to do: then the end is what it is without the edit.
func Edited(id string, undone bool, edits ...string) Fault {
	return Fault{ID: id, Applies: always, OtherCounts: true, OtherEnd: !undone, Do: func(r *Run, _ *Process, _ *Call) verdict {
		before, err := r.server.Get(r.workload.Parent)
		if err != nil {
			return verdict{}
		}
		r.note("user, meanwhile: %s", strings.Join(edits, " "))
		if err := r.workload.Edit(r.server, edits); err != nil {
			r.fail("editing by %q: %w", edits, err)
		}
		if undone {
			r.undo = append(r.undo, func() {
				r.note("user: takes that back")
				if err := r.server.RestoreSpec(before); client.IgnoreNotFound(err) != nil {
					r.fail("taking an edit back: %w", err)
				}
			})
		}
		return verdict{}
	}}
}

func onPod(edit func(*corev1.Pod)) func(*Run, *Process, *Call) verdict {
	return func(r *Run, _ *Process, c *Call) verdict {
		if pod := target(r, c); pod != nil {
			_ = r.server.Edit(r.server.KeyOf(pod), func(obj client.Object) { edit(obj.(*corev1.Pod)) })
		}
		return verdict{}
	}
}

func olderOwner(obj client.Object, kind groupKind) {
	refs := obj.GetOwnerReferences()
	for i := range refs {
		if refs[i].Kind == kind.Kind {
			refs[i].APIVersion = schema.GroupVersion{Group: kind.Group, Version: "v1alpha1"}.String()
		}
	}
	obj.SetOwnerReferences(refs)
}
