package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// WorkloadSpread places the Pods of one workload into ordered subsets of nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ws
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="WorkloadName",type="string",JSONPath=".spec.targetRef.name",description="Name of the workload"
// +kubebuilder:printcolumn:name="WorkloadKind",type="string",JSONPath=".spec.targetRef.kind",description="Kind of the workload"
// +kubebuilder:printcolumn:name="Adaptive",type="boolean",JSONPath=`.spec.scheduleStrategy.type[?(@ == "Adaptive")]`,description="Whether full subsets pass their Pods on"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type WorkloadSpread struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec WorkloadSpreadSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status WorkloadSpreadStatus `json:"status,omitempty"`
}

// WorkloadSpreadList is a list of WorkloadSpreads.
//
// +kubebuilder:object:root=true
type WorkloadSpreadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the WorkloadSpreads.
	Items []WorkloadSpread `json:"items"`
}

// WorkloadSpreadSpec is what a user wants of a WorkloadSpread.
type WorkloadSpreadSpec struct {
	// TargetReference is the workload whose Pods are placed; its group, kind and name cannot be changed.
	TargetReference *v1beta1.TargetReference `json:"targetRef"`

	// TargetFilter restricts which Pods of the workload are placed; all by default.
	TargetFilter *v1beta1.TargetFilter `json:"targetFilter,omitempty"`

	// Subsets in the order in which they are filled.
	Subsets []WorkloadSpreadSubset `json:"subsets"`

	// ScheduleStrategy decides whether subsets that have no room pass their Pods on.
	ScheduleStrategy v1beta1.WorkloadSpreadScheduleStrategy `json:"scheduleStrategy,omitempty"`
}

// WorkloadSpreadSubset is one group of nodes.
type WorkloadSpreadSubset struct {
	// Name of the subset, unique.
	Name string `json:"name"`

	// RequiredNodeSelectorTerm selects the nodes the subset's Pods must run on.
	RequiredNodeSelectorTerm *corev1.NodeSelectorTerm `json:"requiredNodeSelectorTerm,omitempty"`

	// PreferredNodeSelectorTerms selects the nodes the subset's Pods should run on.
	PreferredNodeSelectorTerms []corev1.PreferredSchedulingTerm `json:"preferredNodeSelectorTerms,omitempty"`

	// Tolerations are added to the subset's Pods.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// MaxReplicas is how many Pods, or which percentage of the workload's replicas rounded up, the subset takes; no limit
	// by default.
	MaxReplicas *intstr.IntOrString `json:"maxReplicas,omitempty"`

	// Patch is a strategic merge patch on the subset's Pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Patch runtime.RawExtension `json:"patch,omitzero"`
}

// WorkloadSpreadStatus is what the controller last saw.
type WorkloadSpreadStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// SubsetStatuses say per subset what was seen, over all versions of the workload.
	SubsetStatuses []WorkloadSpreadSubsetStatus `json:"subsetStatuses,omitempty"`

	// VersionedSubsetStatuses say the same for each version of the workload.
	VersionedSubsetStatuses map[string][]WorkloadSpreadSubsetStatus `json:"versionedSubsetStatuses,omitempty"`
}

// WorkloadSpreadSubsetConditionType is the type of a subset condition.
type WorkloadSpreadSubsetConditionType string

// WorkloadSpreadSubsetCondition is one observation of a subset's state.
type WorkloadSpreadSubsetCondition struct {
	// Type names what is observed.
	Type WorkloadSpreadSubsetConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// LastTransitionTime is when the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Reason is one word for programs.
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
}

// WorkloadSpreadSubsetStatus is what was seen of one subset.
type WorkloadSpreadSubsetStatus struct {
	// Name of the subset.
	Name string `json:"name"`

	// Conditions are the latest observations of the subset's state.
	Conditions []WorkloadSpreadSubsetCondition `json:"conditions,omitempty"`

	// Replicas is the number of active Pods in it.
	Replicas int32 `json:"replicas"`

	// MissingReplicas is how many more Pods it takes; -1 means without limit.
	MissingReplicas int32 `json:"missingReplicas"`

	// CreatingPods are Pods that were admitted and not seen yet, by name or id, with the time of admission.
	CreatingPods map[string]metav1.Time `json:"creatingPods,omitempty"`

	// DeletingPods are Pods whose deletion was admitted and not seen yet, by name, with the time of admission.
	DeletingPods map[string]metav1.Time `json:"deletingPods,omitempty"`
}
