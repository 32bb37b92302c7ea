package podunavailablebudget

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

// followable are the kinds whose metadata is watched, if they are installed; of all others the size is asked for each time.
var followable = []schema.GroupVersionKind{
	deployments.WithVersion("v1"), replicaSets.WithVersion("v1"), {Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps.kruise.io", Version: "v1beta1", Kind: "CloneSet"}, {Group: "apps.kruise.io", Version: "v1beta1", Kind: "StatefulSet"},
}

// Setup is what a process decides about the controller.
type Setup struct {
	// Live reads at the API server itself.
	Live client.Client
	// Workers is how many budgets are worked on at a time.
	Workers int
	Clock   clock.PassiveClock
}

// AddTo makes a manager run the controller, with the given limits. The kind PodUnavailableBudget must be installed.
func (s Setup) AddTo(ctx context.Context, mgr manager.Manager, options controller.Options) error {
	followed, err := installed(mgr.GetRESTMapper())
	if err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, controllerField, byController); err != nil {
		return fmt.Errorf("indexing Pods for controller %s: %w", Name, err)
	}
	//nolint:staticcheck // The newer events API does not name the component that users know.
	r := New(mgr.GetClient(), s.Live, mgr.GetEventRecorderFor("pub-controller"), s.Clock, followed)
	options.MaxConcurrentReconciles = s.Workers
	b := builder.ControllerManagedBy(mgr).Named(Name).WithOptions(options).
		For(&policyv1beta1.PodUnavailableBudget{}).
		Watches(&policyv1beta1.PodUnavailableBudget{}, r.orphans()).
		Watches(&corev1.Pod{}, r.podEvents())
	for kind, version := range followed {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(kind.WithVersion(version))
		b = b.WatchesMetadata(object, r.workloadEvents(kind))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("adding controller %s: %w", Name, err)
	}
	return nil
}

// New makes the reconciler; followed are the kinds that the cache has the metadata of, with their versions.
func New(cached, live client.Client, recorder record.EventRecorder, clock clock.PassiveClock, followed map[schema.GroupKind]string) *Reconciler {
	return &Reconciler{
		Client: cached, recorder: recorder, clock: clock,
		workloads: &workloads{cache: cached, live: live, followed: followed, remembered: make(map[types.UID]remembered)},
	}
}

func installed(mapper meta.RESTMapper) (map[schema.GroupKind]string, error) {
	kinds := make(map[schema.GroupKind]string)
	for _, kind := range followable {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking for kind %s: %w", kind, err)
		}
		kinds[kind.GroupKind()] = kind.Version
	}
	return kinds, nil
}
