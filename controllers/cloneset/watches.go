package cloneset

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// Watch is a kind whose events wake the controller.
type Watch struct {
	Object     client.Object
	Handler    handler.EventHandler
	Predicates []predicate.Predicate
}

// Watches are all that wakes the controller. onlyRelevant leaves out changes of Pods that change nothing of what a sync
// does (gate CloneSetEventHandlerOptimization).
func (r *Reconciler) Watches(scheme *runtime.Scheme, mapper meta.RESTMapper, onlyRelevant bool) []Watch {
	relevant := always
	if onlyRelevant {
		relevant = matters
	}
	created := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	owner := handler.EnqueueRequestForOwner(scheme, mapper, &v1beta1.CloneSet{}, handler.OnlyControllerOwner())
	return []Watch{
		{&v1beta1.CloneSet{}, &handler.EnqueueRequestForObject{}, []predicate.Predicate{exceptStatus()}},
		{&v1beta1.CloneSet{}, r.statusEvents(), nil},
		{&corev1.Pod{}, r.podEvents(relevant), nil},
		{&corev1.PersistentVolumeClaim{}, owner, []predicate.Predicate{created}},
	}
}
