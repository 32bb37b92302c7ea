package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/internal/terminal"
	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// owner is a workload that a Pod belongs to, directly or through another.
type owner struct{ group, kind, name string }

// budgets are those that select a Pod. enforced are the webhooks that see Pods go, none if nothing enforces budgets. A
// cluster without the kind has none.
func budgets(ctx context.Context, cluster *terminal.Cluster, pod *corev1.Pod, enforced []string) ([]Budget, error) {
	owners, err := ownersOf(ctx, cluster, pod)
	if err != nil {
		return nil, err
	}
	var found []Budget
	resource := policyv1beta1.GroupVersion.WithResource("podunavailablebudgets")
	err = cluster.Each(ctx, resource, pod.Namespace, nil, func(raw json.RawMessage) error {
		var budget policyv1beta1.PodUnavailableBudget
		if err := json.Unmarshal(raw, &budget); err != nil {
			return fmt.Errorf("reading a PodUnavailableBudget: %w", err)
		}
		if by := selectedBy(&budget, pod, owners); by != "" {
			found = append(found, explainBudget(&budget, pod, by, enforced))
		}
		return nil
	})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	return found, err
}

// ownersOf follows the controllers of a Pod: its own, and a ReplicaSet's.
func ownersOf(ctx context.Context, cluster *terminal.Cluster, pod *corev1.Pod) ([]owner, error) {
	direct := metav1.GetControllerOf(pod)
	if direct == nil {
		return nil, nil
	}
	owners := []owner{ownerOf(direct)}
	if owners[0].group != "apps" || direct.Kind != "ReplicaSet" {
		return owners, nil
	}
	set, err := cluster.Client.AppsV1().ReplicaSets(pod.Namespace).Get(ctx, direct.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return owners, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ReplicaSet %s: %w", direct.Name, err)
	}
	if above := metav1.GetControllerOf(set); above != nil {
		owners = append(owners, ownerOf(above))
	}
	return owners, nil
}

func ownerOf(r *metav1.OwnerReference) owner {
	return owner{schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).Group, r.Kind, r.Name}
}

// selectedBy says how a budget selects a Pod, "" if it does not (protection.md §3, §4.1).
func selectedBy(b *policyv1beta1.PodUnavailableBudget, pod *corev1.Pod, owners []owner) string {
	if named := pub.Related(pod.Annotations); named != "" {
		if named == b.Name {
			return "the Pod's annotation " + policyv1beta1.PubRelatedAnnotation
		}
		return ""
	}
	if t := b.Spec.TargetReference; t != nil {
		target := owner{schema.FromAPIVersionAndKind(t.APIVersion, t.Kind).Group, t.Kind, t.Name}
		if slices.Contains(owners, target) {
			return fmt.Sprintf("its targetRef %s %s", t.Kind, t.Name)
		}
		return ""
	}
	if b.Spec.Selector == nil {
		return ""
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
		return ""
	}
	return "its selector"
}

func explainBudget(b *policyv1beta1.PodUnavailableBudget, pod *corev1.Pod, by string, enforced []string) Budget {
	e := Budget{
		Name: b.Name, SelectedBy: by, Rule: ruleOf(&b.Spec), Total: b.Status.TotalReplicas, Desired: b.Status.DesiredAvailable,
		Current: b.Status.CurrentAvailable, Allowed: b.Status.UnavailableAllowed, Protects: protects(b), Decides: decides(b, pod),
	}
	if m := b.Spec.MinAvailable; b.Spec.MaxUnavailable == nil && m != nil && m.Type == intstr.Int {
		e.Notes = append(e.Notes, "an absolute minAvailable keeps its floor when the workload shrinks or goes; only percentages and maxUnavailable follow its size")
	}
	if b.Status.ObservedGeneration < b.Generation {
		e.Notes = append(e.Notes, "its status is not of its present spec: no controller has looked at it since it changed")
	}
	if len(enforced) == 0 {
		e.Notes = append(e.Notes, "nothing enforces it: this release has no webhook that sees Pods being deleted or evicted")
	} else {
		e.Notes = append(e.Notes, "enforced by "+strings.Join(enforced, ", "))
	}
	return e
}

func ruleOf(s *policyv1beta1.PodUnavailableBudgetSpec) string {
	switch {
	case s.MaxUnavailable != nil:
		return "maxUnavailable " + s.MaxUnavailable.String() + ": all replicas but that many must be available"
	case s.MinAvailable != nil:
		return "minAvailable " + s.MinAvailable.String()
	default:
		return "neither maxUnavailable nor minAvailable is given"
	}
}

// protects are the operations that cost budget.
func protects(b *policyv1beta1.PodUnavailableBudget) []string {
	operations := pub.Operations(b)
	names := make([]string, 0, len(operations))
	for _, operation := range operations {
		names = append(names, string(operation))
	}
	return names
}

// decides says what decides about losing the Pod now, in the order of protection.md §3.
func decides(b *policyv1beta1.PodUnavailableBudget, pod *corev1.Pod) string {
	s := b.Status
	_, disrupted := s.DisruptedPods[pod.Name]
	_, updated := s.UnavailablePods[pod.Name]
	switch {
	case pub.Exempt(pod.Annotations):
		return fmt.Sprintf("the annotation %s exempts the Pod", policyv1beta1.PubNoProtectAnnotation)
	case !pub.Available(pod):
		return "the Pod is not available, so that losing it is free"
	case pub.Ignores(b, pod.Labels):
		return "its ignoredPodSelector exempts the Pod"
	case s.DesiredAvailable == 0:
		return "no Pod must be available, so that the Pod may go"
	case disrupted || updated:
		return "the Pod was given leave to go a moment ago"
	case s.UnavailableAllowed > 0:
		return fmt.Sprintf("%d more may become unavailable: %d are available, %d must be", s.UnavailableAllowed, s.CurrentAvailable, s.DesiredAvailable)
	default:
		return fmt.Sprintf("the budget is exhausted: %d are available, %d must be", s.CurrentAvailable, s.DesiredAvailable)
	}
}
