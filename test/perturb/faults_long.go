package perturb

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Long are the faults of P13 to P19 that concern a workload of Pods.
func Long() []Fault {
	return []Fault{
		// A node that is gone: a Pod that is deleted stays for ever.
		{ID: "P13", Applies: deletesPods, OtherCounts: true, Do: func(r *Run, _ *Process, c *Call) verdict {
			_ = r.server.Edit(c.Key, func(obj client.Object) {
				metav1.SetMetaDataAnnotation(&obj.(*corev1.Pod).ObjectMeta, Stuck, "true")
			})
			return verdict{}
		}},
		{ID: "P14.failed", Applies: always, OtherCounts: true, Do: onPod(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })},
		{ID: "P14.flaps", Applies: always, Do: onPod(func(pod *corev1.Pod) {
			for i := range pod.Status.ContainerStatuses {
				pod.Status.ContainerStatuses[i].State = corev1.ContainerState{}
				pod.Status.ContainerStatuses[i].Ready = false
			}
		})},
		{ID: "P17.ahead", Applies: always, Do: func(r *Run, _ *Process, _ *Call) verdict {
			r.advanceTo(r.now().Add(time.Hour))
			return verdict{}
		}},
		{ID: "P18.quota", Applies: creates, Do: refuses(func(c *Call, n int) error {
			if n%3 == 0 && creates(c) {
				return apierrors.NewForbidden(groupResource(c), c.Key.Name, errQuota)
			}
			return nil
		})},
		{ID: "P18.busy", Applies: always, Do: refuses(func(_ *Call, n int) error {
			if n%3 == 0 && n < 20 {
				return apierrors.NewTooManyRequests("the server is busy", 1)
			}
			return nil
		})},
		// An older version of the parent's API made the references.
		{ID: "P19", Applies: always, Do: func(r *Run, _ *Process, _ *Call) verdict {
			for _, pod := range r.server.Pods() {
				_ = r.server.Edit(r.server.KeyOf(pod), func(obj client.Object) { olderOwner(obj, r.workload.Parent.Kind) })
			}
			return verdict{}
		}},
	}
}

func deletesPods(c *Call) bool { return c.Verb == "delete" && c.Key.Kind.Kind == "Pod" }

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
