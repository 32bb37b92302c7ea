package podunavailablebudget

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// gathering is how long events of Pods wait for more of them: a look at a budget is a look at all of its Pods.
const gathering = 100 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func add(q queue, namespace string, names ...string) {
	for _, name := range names {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}, gathering)
	}
}

// orphans wakes the other budgets of a namespace when one goes: some of its Pods may be theirs now.
func (r *Reconciler) orphans() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
		budgets, err := r.budgets(ctx, e.Object.GetNamespace())
		if err != nil {
			log.FromContext(ctx).Error(err, "Cannot find the budgets beside one that is gone")
		}
		for i := range budgets {
			add(q, budgets[i].Namespace, budgets[i].Name)
		}
	}}
}

// podEvents wakes the budgets of Pods that begin or cease to count.
func (r *Reconciler) podEvents() handler.EventHandler {
	wake := func(ctx context.Context, q queue, objects ...client.Object) {
		for _, object := range objects {
			if pod, is := object.(*corev1.Pod); is {
				r.wakeOf(ctx, q, pod)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, q, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			old, isPod := e.ObjectOld.(*corev1.Pod)
			updated, isPodToo := e.ObjectNew.(*corev1.Pod)
			if !isPod || !isPodToo || !r.anyBudgets(ctx, updated.Namespace) || !matters(old, updated) {
				return
			}
			wake(ctx, q, updated)
			if !maps.Equal(old.Labels, updated.Labels) { // they may have chosen another budget before
				wake(ctx, q, old)
			}
		},
	}
}

// anyBudgets tells whether a namespace may have budgets. To ask first is far cheaper than to compare two versions of a Pod, and
// most namespaces have none. It waits for no write of our own: those make no budgets.
func (r *Reconciler) anyBudgets(ctx context.Context, namespace string) bool {
	budgets, err := r.budgets(ctx, namespace, client.DisableReadYourWritesConsistency)
	return err != nil || len(budgets) > 0
}

func matters(old, updated *corev1.Pod) bool {
	return podstate.Active(old) != podstate.Active(updated) || pub.Available(old) != pub.Available(updated) ||
		pub.Related(old.Annotations) != pub.Related(updated.Annotations) || !maps.Equal(old.Labels, updated.Labels)
}

// wakeOf wakes the budgets that Pods of a namespace match, and those that they say they are under.
func (r *Reconciler) wakeOf(ctx context.Context, q queue, pods ...*corev1.Pod) {
	budgets, err := r.budgets(ctx, pods[0].Namespace)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot find the budgets of Pods", "namespace", pods[0].Namespace)
		return
	}
	names := make(map[string]bool)
	for _, pod := range pods {
		matching, err := r.matching(ctx, budgets, pod)
		if err != nil {
			log.FromContext(ctx).Error(err, "Cannot find the budgets of a Pod", "namespace", pod.Namespace, "name", pod.Name)
		}
		for _, name := range append(matching, pub.Related(pod.Annotations)) {
			names[name] = true
		}
	}
	delete(names, "") // of Pods that are under none
	for name := range names {
		add(q, pods[0].Namespace, name)
	}
}

// workloadEvents wakes the budgets of a workload that comes, goes, or may change its size: those that name it, and those of
// its Pods. A budget must shrink with its workload before the Pods are deleted, or it would hold them back.
func (r *Reconciler) workloadEvents(kind schema.GroupKind) handler.EventHandler {
	wake := func(ctx context.Context, q queue, object client.Object) {
		if err := r.wakeOfWorkload(ctx, q, kind, object); err != nil {
			log.FromContext(ctx).Error(err, "Cannot find the budgets of a workload", "kind", kind.Kind, "namespace", object.GetNamespace(), "name", object.GetName())
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, q, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil {
				wake(ctx, q, e.ObjectNew)
			}
		},
	}
}

func (r *Reconciler) wakeOfWorkload(ctx context.Context, q queue, kind schema.GroupKind, object metav1.Object) error {
	namespace := object.GetNamespace()
	budgets, err := r.budgets(ctx, namespace)
	if err != nil || len(budgets) == 0 {
		return err
	}
	named := pub.Workload{Group: kind.Group, Kind: kind.Kind, Name: object.GetName()}
	for i := range budgets {
		if t := budgets[i].Spec.TargetReference; t != nil && pub.WorkloadOf(t.APIVersion, t.Kind, t.Name) == named {
			add(q, namespace, budgets[i].Name)
		}
	}
	owners := []types.UID{object.GetUID()}
	if kind == deployments {
		if owners, err = r.replicaSetsOf(ctx, namespace, object.GetUID()); err != nil {
			return err
		}
	}
	for _, owner := range owners {
		pods, err := r.pods(ctx, namespace, client.MatchingFields{controllerField: string(owner)})
		if err != nil {
			return err
		}
		if len(pods) > 0 {
			r.wakeOf(ctx, q, pods...)
		}
	}
	return nil
}
