package podunavailablebudget

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

// Budget is a PodUnavailableBudget.
type Budget = policyv1beta1.PodUnavailableBudget

// Operation is what is done to a Pod.
type Operation = policyv1beta1.PubOperation

// The operations that may cost a unit.
const (
	Delete = policyv1beta1.PubDeleteOperation
	Evict  = policyv1beta1.PubEvictOperation
	Update = policyv1beta1.PubUpdateOperation
	Resize = policyv1beta1.PubResizeOperation
)

// Operations are those that the budget protects: those of its spec, else those of the annotation that v1alpha1 has, else all
// but resizes.
func Operations(b *Budget) []Operation {
	if len(b.Spec.ProtectOperations) > 0 {
		return b.Spec.ProtectOperations
	}
	var listed []Operation
	for item := range strings.SplitSeq(b.Annotations[policyv1beta1.PubProtectOperationsAnnotation], ",") {
		if item = strings.TrimSpace(item); item != "" {
			listed = append(listed, Operation(item))
		}
	}
	if len(listed) > 0 {
		return listed
	}
	return []Operation{Delete, Update, Evict}
}

// protects tells whether an operation costs a unit. Unless resizes are told apart (gate InPlacePodVerticalScaling), one is an
// update like any other.
func protects(b *Budget, operation Operation, resizeApart bool) bool {
	operations := Operations(b)
	return slices.Contains(operations, operation) ||
		operation == Resize && !resizeApart && slices.Contains(operations, Update)
}

// FixedTotal is the number of Pods that the budget says its workload has, in its spec or in the annotation that v1alpha1 has;
// fixed is false if it leaves that to the workload.
func FixedTotal(b *Budget) (total int32, fixed bool) {
	if b.Spec.ProtectTotalReplicas != nil {
		return *b.Spec.ProtectTotalReplicas, true
	}
	n, err := strconv.ParseInt(b.Annotations[policyv1beta1.PubProtectTotalReplicasAnnotation], 10, 32)
	return int32(n), err == nil
}

// Ignores tells whether the budget leaves Pods with these labels alone.
func Ignores(b *Budget, of map[string]string) bool {
	return selects(b.Spec.IgnoredPodSelector, of)
}

// selects is false for a selector that is absent, empty, or that no rule would have let in.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return false
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(of))
}

// Matches tells whether a budget is for a Pod with these labels, of these workloads.
func Matches(b *Budget, of map[string]string, workloads ...Workload) bool {
	if t := b.Spec.TargetReference; t != nil {
		return slices.Contains(workloads, WorkloadOf(t.APIVersion, t.Kind, t.Name))
	}
	return selects(b.Spec.Selector, of)
}
