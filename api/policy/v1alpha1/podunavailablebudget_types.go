package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

// PodUnavailableBudget bounds how many Pods may be made unavailable on purpose: by deletion, eviction, update or resize.
//
// +kubebuilder:object:root=true
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
	Status v1beta1.PodUnavailableBudgetStatus `json:"status,omitempty"`
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

// PodUnavailableBudgetSpec is what a user wants of a PodUnavailableBudget; annotations hold what later versions have
// fields for.
type PodUnavailableBudgetSpec struct {
	// Selector selects Pods of the namespace by label; it excludes targetRef and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// TargetReference is the workload whose Pods are protected; it excludes selector and cannot be changed.
	TargetReference *v1beta1.TargetReference `json:"targetRef,omitempty"`

	// MaxUnavailable is how many Pods, or which percentage of all rounded up, may be unavailable; it excludes
	// minAvailable.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MinAvailable is how many Pods, or which percentage of all rounded up, must be available; it excludes
	// maxUnavailable.
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
}
