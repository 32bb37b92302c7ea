package podunavailablebudget

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/arithmetic"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

const (
	// goneWithin is how long a Pod may take to begin to end after its deletion or eviction was allowed. Then somebody else
	// refused it, such as a PodDisruptionBudget, and the unit is given back.
	goneWithin = 20 * time.Second
	// shownWithin is how long a Pod may take to show that it was updated; then its own readiness decides.
	shownWithin = 10 * time.Second
	// unseenWithin is how long a Pod that is not in the cache keeps its entry: it may be so new that the cache has yet to see
	// it come and go, and meanwhile it would count as available. The entry costs nothing while there is no such Pod.
	unseenWithin = 3 * time.Second
)

// snapshot is what is observed of a budget.
type snapshot struct {
	budget *pub.Budget
	// pods are the active ones that the budget counts.
	pods []*corev1.Pod
	// listed are the Pods that are in the status, by name, if they are still there.
	listed map[string]*corev1.Pod
	// total is the number of replicas that the workloads want.
	total int
	// elsewhere tells whether a Pod is another budget's to tell.
	elsewhere func(*corev1.Pod) bool
}

// plan is what is to be done.
type plan struct {
	status policyv1beta1.PodUnavailableBudgetStatus
	// changed tells whether the status is another than it was.
	changed bool
	// relate are Pods that do not say yet that they are under this budget.
	relate []*corev1.Pod
	// stayed are Pods that were to be deleted, and are there.
	stayed []*corev1.Pod
	// problem is why nothing can be computed from the spec.
	problem error
	// wake is when to look again without an event, 0 is never.
	wake time.Duration
}

// decide is the whole of the controller's mathematics (protection.md §4.2, §4.3).
func decide(s snapshot, now time.Time) plan {
	var p plan
	for _, pod := range s.pods {
		if !isTold(pod, s.budget.Name) && !s.elsewhere(pod) {
			p.relate = append(p.relate, pod)
		}
	}
	total := s.total
	if fixed, is := pub.FixedTotal(s.budget); is {
		total = int(fixed)
	}
	desired, err := desiredAvailable(s.budget, total)
	if err != nil {
		p.problem = err
		return p
	}
	p.status = policyv1beta1.PodUnavailableBudgetStatus{
		ObservedGeneration: s.budget.Generation, TotalReplicas: int32(total), DesiredAvailable: int32(desired),
	}
	p.expire(s, now)
	for _, pod := range s.pods {
		_, disrupted := p.status.DisruptedPods[pod.Name]
		_, updated := p.status.UnavailablePods[pod.Name]
		if !disrupted && !updated && pub.Available(pod) {
			p.status.CurrentAvailable++
		}
	}
	p.status.UnavailableAllowed = max(0, p.status.CurrentAvailable-p.status.DesiredAvailable)
	p.changed = !equality.Semantic.DeepEqual(p.status, s.budget.Status)
	return p
}

// desiredAvailable is how many Pods must be available. Percentages round up, so that 10% of 3 lets one go; an absolute
// minAvailable does not depend on the total: it keeps its floor when the workload shrinks or goes.
func desiredAvailable(b *pub.Budget, total int) (int, error) {
	if m := b.Spec.MaxUnavailable; m != nil {
		n, err := arithmetic.Resolve(*m, total, arithmetic.Up)
		if err != nil {
			return 0, fmt.Errorf("computing spec.maxUnavailable: %w", err)
		}
		return max(0, total-n), nil
	}
	m := b.Spec.MinAvailable
	if m == nil {
		return 0, errors.New("computing how many Pods must be available: neither spec.maxUnavailable nor spec.minAvailable is set")
	}
	n, err := arithmetic.Resolve(*m, total, arithmetic.Up)
	if err != nil {
		return 0, fmt.Errorf("computing spec.minAvailable: %w", err)
	}
	return n, nil
}

// expire takes the entries over whose Pods are still there and whose time is not over.
func (p *plan) expire(s snapshot, now time.Time) {
	old := &s.budget.Status
	p.status.DisruptedPods = p.kept(old.DisruptedPods, s.listed, goneWithin, now, func(pod *corev1.Pod) { p.stayed = append(p.stayed, pod) })
	p.status.UnavailablePods = p.kept(old.UnavailablePods, s.listed, shownWithin, now, func(*corev1.Pod) {})
	slices.SortFunc(p.stayed, byName)
}

func (p *plan) kept(entries map[string]metav1.Time, pods map[string]*corev1.Pod, within time.Duration, now time.Time, late func(*corev1.Pod)) map[string]metav1.Time {
	var kept map[string]metav1.Time
	for name, since := range entries {
		pod := pods[name]
		if pod != nil && !podstate.Active(pod) {
			continue
		}
		left := since.Add(within).Sub(now)
		if pod == nil {
			left = since.Add(unseenWithin).Sub(now)
		}
		if left <= 0 {
			if pod != nil {
				late(pod)
			}
			continue
		}
		if kept == nil {
			kept = make(map[string]metav1.Time)
		}
		kept[name] = since
		if p.wake == 0 || left < p.wake {
			p.wake = left
		}
	}
	return kept
}

// isTold tells whether a Pod says that it is under the budget, in both spellings.
func isTold(pod *corev1.Pod, budget string) bool {
	return pod.Annotations[policyv1beta1.PubRelatedAnnotation] == budget && pod.Annotations[policyv1beta1.PubRelatedLegacyAnnotation] == budget
}
