package podunavailablebudget

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// Name is the controller's in logs and metrics.
const Name = "podunavailablebudget"

// conflictDelay gives the cache time to see the write of admission that ours lost against.
const conflictDelay = 100 * time.Millisecond

// Reasons of events (protection.md §4).
const (
	noPods            = "NoPods"
	calculationFailed = "CalculateExpectedPodCountFailed"
	notDeleted        = "NotDeleted"
)

// Reconciler keeps the status of one budget at a time. It has no state that matters: events may be lost, doubled or late.
type Reconciler struct {
	// Client reads from a cache whose Pods have at least what Keep takes.
	client.Client
	recorder  record.EventRecorder
	clock     clock.PassiveClock
	workloads *workloads
}

// Reconcile observes, plans and acts. The status comes first: until it says what must be available, nothing is protected.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	budget := &policyv1beta1.PodUnavailableBudget{}
	if err := r.Get(ctx, req.NamespacedName, budget); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if budget.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	observed, err := r.observe(ctx, budget)
	if err != nil {
		return reconcile.Result{}, err
	}
	planned := decide(observed, r.clock.Now())
	written, err := r.write(ctx, budget, &planned)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: conflictDelay}, nil // admission wrote first: look again, tell nobody
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("writing the status: %w", err)
	}
	if written || planned.problem != nil {
		r.tell(budget, &observed, &planned)
	}
	return reconcile.Result{RequeueAfter: planned.wake}, r.relate(ctx, budget.Name, planned.relate)
}

// write writes the status of a plan if it is another. Admission may have written it meanwhile; then the whole plan is void.
func (r *Reconciler) write(ctx context.Context, budget *pub.Budget, p *plan) (bool, error) {
	if p.problem != nil || !p.changed {
		return false, nil //nolint:nilerr // a plan with a problem is told in events, and has no status to write
	}
	changed := budget.DeepCopy()
	changed.Status = p.status
	return true, r.Status().Update(ctx, changed)
}

func (r *Reconciler) tell(budget *pub.Budget, s *snapshot, p *plan) {
	if p.problem != nil {
		r.recorder.Event(budget, corev1.EventTypeWarning, calculationFailed, p.problem.Error())
	}
	if p.problem == nil && len(s.pods) == 0 {
		r.recorder.Event(budget, corev1.EventTypeNormal, noPods, "No Pods are under this budget")
	}
	for _, pod := range p.stayed {
		r.recorder.Eventf(pod, corev1.EventTypeWarning, notDeleted,
			"Its deletion was allowed by PodUnavailableBudget %s and has not begun within %s; the budget has its unit back", budget.Name, goneWithin)
	}
}

// relate tells Pods that they are under the budget, in both spellings. One after the other: it happens to a Pod once in its
// life, and seldom to many at a time.
func (r *Reconciler) relate(ctx context.Context, budget string, pods []*corev1.Pod) error {
	for _, pod := range pods {
		patch := podpatch.New(pod).Annotate(policyv1beta1.PubRelatedAnnotation, budget).Annotate(policyv1beta1.PubRelatedLegacyAnnotation, budget)
		target := &corev1.Pod{}
		target.Namespace, target.Name = pod.Namespace, pod.Name
		if err := r.Patch(ctx, target, patch); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("telling Pod %s its budget: %w", pod.Name, err)
		}
	}
	return nil
}
