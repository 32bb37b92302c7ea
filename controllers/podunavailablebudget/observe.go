package podunavailablebudget

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// controllerField is the cache's index of Pods by the UID of their controller.
const controllerField = "podunavailablebudget.controller"

func byController(obj client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

func byName(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }

// observe reads what a plan is made of.
func (r *Reconciler) observe(ctx context.Context, budget *pub.Budget) (s snapshot, err error) {
	s.budget = budget
	// These come first. The cache goes on between two reads: a Pod that is still there now, and gone from the list below, is
	// counted by neither; the other way round it would count as available after its entry was dropped.
	if s.listed, err = r.listed(ctx, budget); err != nil {
		return s, err
	}
	if t := budget.Spec.TargetReference; t != nil {
		s.pods, s.total, err = r.ofTarget(ctx, budget.Namespace, pub.WorkloadOf(t.APIVersion, t.Kind, t.Name))
	} else {
		s.pods, s.total, err = r.selected(ctx, budget)
	}
	if err != nil {
		return s, err
	}
	s.elsewhere, err = r.elsewhere(ctx, budget, s.pods)
	return s, err
}

// ofTarget are the active Pods of a workload and its size; without one there are none (protection.md §4.1).
func (r *Reconciler) ofTarget(ctx context.Context, namespace string, target pub.Workload) ([]*corev1.Pod, int, error) {
	size, ok, err := r.workloads.size(ctx, namespace, target)
	if err != nil || !ok || size.replicas == 0 {
		return nil, 0, err
	}
	owners := []types.UID{size.uid}
	if groupKind(target) == deployments {
		if owners, err = r.replicaSetsOf(ctx, namespace, size.uid); err != nil {
			return nil, 0, err
		}
	}
	var pods []*corev1.Pod
	for _, owner := range owners {
		more, err := r.pods(ctx, namespace, client.MatchingFields{controllerField: string(owner)})
		if err != nil {
			return nil, 0, err
		}
		pods = append(pods, more...)
	}
	if _, followed := r.workloads.followed[groupKind(target)]; len(pods) > 0 || followed || size.selector == "" {
		return pods, size.replicas, nil
	}
	selector, err := labels.Parse(size.selector)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the selector of %s %s: %w", target.Kind, target.Name, err)
	}
	pods, err = r.pods(ctx, namespace, client.MatchingLabelsSelector{Selector: selector})
	return pods, size.replicas, err
}

// replicaSetsOf are those of a Deployment, also if they are scaled to 0: they may still have Pods.
func (r *Reconciler) replicaSetsOf(ctx context.Context, namespace string, deployment types.UID) ([]types.UID, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(replicaSets.WithVersion(r.workloads.followed[replicaSets]).GroupVersion().WithKind("ReplicaSetList"))
	if err := r.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ReplicaSets: %w", err)
	}
	var owners []types.UID
	for i := range list.Items {
		set := &list.Items[i]
		if owner := metav1.GetControllerOfNoCopy(set); owner != nil && owner.UID == deployment && set.DeletionTimestamp == nil {
			owners = append(owners, set.UID)
		}
	}
	return owners, nil
}

// selected are the active Pods that a selector matches, and the size of the workloads that they belong to, each counted once.
func (r *Reconciler) selected(ctx context.Context, budget *pub.Budget) ([]*corev1.Pod, int, error) {
	selector := labels.Nothing()
	if s := budget.Spec.Selector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			return nil, 0, fmt.Errorf("reading spec.selector: %w", err)
		}
	}
	pods, err := r.pods(ctx, budget.Namespace, client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return nil, 0, err
	}
	sizes := make(map[pub.Workload]int)
	total := 0
	for _, pod := range pods {
		chain, err := r.workloads.chain(ctx, pod)
		if err != nil {
			return nil, 0, err
		}
		if len(chain) == 0 {
			continue
		}
		owner := chain[len(chain)-1]
		if _, counted := sizes[owner]; counted {
			continue
		}
		size, _, err := r.workloads.size(ctx, budget.Namespace, owner)
		if err != nil {
			return nil, 0, err
		}
		sizes[owner] = size.replicas
		total += size.replicas
	}
	return pods, total, nil
}

// pods are the active ones, as the cache has them.
func (r *Reconciler) pods(ctx context.Context, namespace string, options ...client.ListOption) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	options = append(options, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	if err := r.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	var active []*corev1.Pod
	for i := range list.Items {
		if podstate.Active(&list.Items[i]) {
			active = append(active, &list.Items[i])
		}
	}
	return active, nil
}

// listed are the Pods of the status that are there.
func (r *Reconciler) listed(ctx context.Context, budget *pub.Budget) (map[string]*corev1.Pod, error) {
	found := make(map[string]*corev1.Pod)
	for _, entries := range []map[string]metav1.Time{budget.Status.DisruptedPods, budget.Status.UnavailablePods} {
		for name := range entries {
			pod := &corev1.Pod{}
			err := r.Get(ctx, client.ObjectKey{Namespace: budget.Namespace, Name: name}, pod)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("reading Pod %s: %w", name, err)
			}
			found[name] = pod
		}
	}
	return found, nil
}

// elsewhere makes the predicate of Pods that another budget's name belongs on: the one that they name, if it is there and
// matches, else the first one that matches.
func (r *Reconciler) elsewhere(ctx context.Context, budget *pub.Budget, pods []*corev1.Pod) (func(*corev1.Pod) bool, error) {
	if len(pods) == 0 {
		return nil, nil
	}
	budgets, err := r.budgets(ctx, budget.Namespace)
	if err != nil {
		return nil, err
	}
	others := make(map[types.UID]bool)
	var failed error
	for _, pod := range pods {
		matching, err := r.matching(ctx, budgets, pod)
		failed = errors.Join(failed, err)
		first := budget.Name
		for _, name := range matching {
			if name == pub.Related(pod.Annotations) {
				first = name
				break
			}
			first = min(first, name)
		}
		others[pod.UID] = first != budget.Name
	}
	return func(pod *corev1.Pod) bool { return others[pod.UID] }, failed
}

func (r *Reconciler) budgets(ctx context.Context, namespace string, options ...client.ListOption) ([]policyv1beta1.PodUnavailableBudget, error) {
	list := &policyv1beta1.PodUnavailableBudgetList{}
	options = append(options, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	if err := r.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("listing PodUnavailableBudgets: %w", err)
	}
	return list.Items, nil
}

// matching are the names of the budgets that a Pod matches.
func (r *Reconciler) matching(ctx context.Context, budgets []policyv1beta1.PodUnavailableBudget, pod *corev1.Pod) ([]string, error) {
	chain, err := r.workloads.chain(ctx, pod)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range budgets {
		if budgets[i].DeletionTimestamp == nil && pub.Matches(&budgets[i], pod.Labels, chain...) {
			names = append(names, budgets[i].Name)
		}
	}
	return names, nil
}
