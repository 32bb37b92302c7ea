package cloneset

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// pausePerPod is how long events of Pods are gathered before a sync, for each Pod that the CloneSet has. A sync looks at
// all of them, for some 2 µs each, so that without gathering a rollout of n Pods would cost n times n; with it that takes a
// fiftieth of a core at most. From 10,000 Pods on it is lookAgain, by which a sync that wrote something is followed up anyway.
const pausePerPod = 100 * time.Microsecond

// podEvents wakes the CloneSets that control a Pod now and that did before.
func (r *Reconciler) podEvents(relevant func(old, updated *corev1.Pod) bool) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(q queue, objs ...client.Object) {
		for _, name := range controllersOf(objs...) {
			q.AddAfter(reconcile.Request{NamespacedName: name}, r.memory.pause(name))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(q, e.Object) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			old, isPod := e.ObjectOld.(*corev1.Pod)
			updated, isPodToo := e.ObjectNew.(*corev1.Pod)
			if isPod && isPodToo && relevant(old, updated) {
				wake(q, old, updated)
			}
		},
	}
}

// statusEvents wakes a CloneSet whose status someone else has written, as a tool that restores backups does: autoscalers go
// by it, and no other event may come. It waits as long as counts do, should that someone not give up.
func (r *Reconciler) statusEvents() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
		old, isSet := e.ObjectOld.(*v1beta1.CloneSet)
		updated, isSetToo := e.ObjectNew.(*v1beta1.CloneSet)
		if isSet && isSetToo && !equality.Semantic.DeepEqual(&old.Status, &updated.Status) && !r.memory.wrote(key(updated), &updated.Status) {
			q.AddAfter(reconcile.Request{NamespacedName: key(updated)}, statusInterval)
		}
	}}
}

// controllersOf are the names of the CloneSets that control the objects, each once.
func controllersOf(objs ...client.Object) []types.NamespacedName {
	var names []types.NamespacedName
	for _, obj := range objs {
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil || !claim.Controls(ref.UID, groupKind, obj) {
			continue
		}
		if name := (types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name}); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func always(_, _ *corev1.Pod) bool { return true }

// matters tells whether a change of a Pod may change what a sync does (gate CloneSetEventHandlerOptimization, cloneset.md
// §8): most updates of a Pod's status do not.
func matters(old, updated *corev1.Pod) bool {
	switch {
	case old.Generation != updated.Generation || old.Spec.NodeName != updated.Spec.NodeName,
		podstate.Active(old) != podstate.Active(updated) || old.Status.Phase != updated.Status.Phase,
		reported(old) != reported(updated) && podstate.Lifecycle(updated) == v1beta1.LifecycleStatePreparingNormal,
		!equality.Semantic.DeepEqual(old.Labels, updated.Labels),
		!equality.Semantic.DeepEqual(old.OwnerReferences, updated.OwnerReferences),
		!equality.Semantic.DeepEqual(old.Finalizers, updated.Finalizers):
		return true
	}
	for _, of := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady, v1beta1.KruisePodReady, v1beta1.InPlaceUpdateReady} {
		if podstate.IsTrue(old, of) != podstate.IsTrue(updated, of) {
			return true
		}
	}
	return updatingInPlace(updated)
}

// updatingInPlace is a Pod of which every change may be the one that completes its update, or lets it go on. The gate of one
// whose resources change stays open: that its update was not seen to be complete is in its state alone.
func updatingInPlace(pod *corev1.Pod) bool {
	progress := inplace.ProgressOf(pod)
	return podstate.Lifecycle(pod) == v1beta1.LifecycleStateUpdating || !progress.Complete() ||
		progress.Began() && !podstate.IsTrue(pod, v1beta1.InPlaceUpdateReady)
}
