package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodUnavailableBudget bounds how many Pods may be made unavailable on purpose: by deletion, eviction, update or resize.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=pub
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Allowed",type="integer",JSONPath=".status.unavailableAllowed",description="Pods that may become unavailable now"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.currentAvailable",description="Pods that are available"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.desiredAvailable",description="Pods that must be available"
// +kubebuilder:printcolumn:name="Total",type="integer",JSONPath=".status.totalReplicas",description="Pods counted"
type PodUnavailableBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec PodUnavailableBudgetSpec `json:"spec,omitempty"`

	// Status is what is left of the budget.
	Status PodUnavailableBudgetStatus `json:"status,omitempty"`
}

// PodUnavailableBudgetList is a list of PodUnavailableBudgets.
//
// +kubebuilder:object:root=true
type PodUnavailableBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the PodUnavailableBudgets.
	Items []PodUnavailableBudget `json:"items"`
}

// PubOperation is an operation on a Pod that costs budget.
type PubOperation string

// Operations on a Pod that cost budget.
const (
	// PubUpdateOperation changes a Pod's spec, or marks it unavailable by label.
	PubUpdateOperation PubOperation = "UPDATE"
	// PubDeleteOperation deletes a Pod.
	PubDeleteOperation PubOperation = "DELETE"
	// PubEvictOperation evicts a Pod.
	PubEvictOperation PubOperation = "EVICT"
	// PubResizeOperation changes CPU or memory of a Pod without a restart.
	PubResizeOperation PubOperation = "RESIZE"
)

// PodUnavailableBudgetSpec is what a user wants of a PodUnavailableBudget.
type PodUnavailableBudgetSpec struct {
	// Selector selects Pods of the namespace by label; it excludes targetRef and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// TargetReference is the workload whose Pods are protected; it excludes selector and cannot be changed.
	TargetReference *TargetReference `json:"targetRef,omitempty"`

	// MaxUnavailable is how many Pods, or which percentage of all rounded up, may be unavailable; it excludes
	// minAvailable.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MinAvailable is how many Pods, or which percentage of all rounded up, must be available; it excludes
	// maxUnavailable.
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// ProtectOperations are the operations that cost budget: DELETE, UPDATE, EVICT, RESIZE; the first three by default.
	ProtectOperations []PubOperation `json:"protectOperations,omitempty"`

	// ProtectTotalReplicas is the number of Pods that percentages refer to; the workloads' replicas by default.
	// +kubebuilder:validation:Minimum=1
	ProtectTotalReplicas *int32 `json:"protectTotalReplicas,omitempty"`

	// IgnoredPodSelector selects Pods that are not protected; none by default.
	IgnoredPodSelector *metav1.LabelSelector `json:"ignoredPodSelector,omitempty"`
}

// TargetReference refers to a workload in the same namespace.
type TargetReference struct {
	// APIVersion of the workload.
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind of the workload.
	Kind string `json:"kind,omitempty"`

	// Name of the workload.
	Name string `json:"name,omitempty"`
}

// PodUnavailableBudgetStatus is what is left of a budget.
type PodUnavailableBudgetStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// DisruptedPods are Pods whose deletion or eviction was allowed and not seen yet, by name, with the time.
	DisruptedPods map[string]metav1.Time `json:"disruptedPods,omitempty"`

	// UnavailablePods are Pods whose update was allowed and not seen yet, by name, with the time.
	UnavailablePods map[string]metav1.Time `json:"unavailablePods,omitempty"`

	// UnavailableAllowed is how many Pods may become unavailable now.
	UnavailableAllowed int32 `json:"unavailableAllowed"`

	// CurrentAvailable is the number of available Pods.
	CurrentAvailable int32 `json:"currentAvailable"`

	// DesiredAvailable is how many Pods must be available.
	DesiredAvailable int32 `json:"desiredAvailable"`

	// TotalReplicas is the number of Pods that percentages refer to.
	TotalReplicas int32 `json:"totalReplicas"`
}
