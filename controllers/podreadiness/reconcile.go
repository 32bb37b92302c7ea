package podreadiness

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podevents"
)

const (
	// Name is the controller's name in logs and metrics.
	Name = "podreadiness"
	// workers as in OpenKruise: a reconcile is one patch, and a burst of new Pods should not wait for it.
	workers = 3
	// conflictDelay gives the cache time to see the write that we conflicted with.
	conflictDelay = 200 * time.Millisecond
)

// Reconciler sets the condition KruisePodReady of a Pod that has the gate and no such condition. It has no state, so
// that events may be lost, doubled or late.
type Reconciler struct {
	pods  client.Client
	clock clock.PassiveClock
}

// New makes the reconciler. pods reads from a cache that keeps what Keep takes, and patches pods/status.
func New(pods client.Client, clock clock.PassiveClock) *Reconciler {
	return &Reconciler{pods: pods, clock: clock}
}

// AddTo registers the controller with a manager; options gives limits, the number of workers is ours.
func (r *Reconciler) AddTo(mgr manager.Manager, options controller.Options) error {
	return podevents.Controller{Name: Name, Workers: workers, Concerns: wants}.AddTo(mgr, options, r)
}

// Reconcile patches the condition of one Pod if it lacks it.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod := &corev1.Pod{}
	if err := r.pods.Get(ctx, req.NamespacedName, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !wants(pod) {
		return reconcile.Result{}, nil
	}
	if wait := leftToOwner(pod, r.clock.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	err := r.pods.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, r.patch(pod)))
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("patching condition %s: %w", v1beta1.KruisePodReady, err)
	}
	return reconcile.Result{}, nil
}

// patch merges one condition by its type, so that no other one can be touched. It holds for this version of the Pod
// only: another writer may just have set the condition to False, which we must not overrule.
func (r *Reconciler) patch(pod *corev1.Pod) []byte {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type":               v1beta1.KruisePodReady,
			"status":             corev1.ConditionTrue,
			"lastTransitionTime": metav1.NewTime(r.clock.Now()),
		}}},
	})
	if err != nil {
		panic(fmt.Sprintf("encoding a patch of strings and a time: %v", err))
	}
	return patch
}
