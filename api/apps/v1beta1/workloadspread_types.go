package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// WorkloadSpread places the Pods of one workload into ordered subsets of nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	TargetReference *TargetReference `json:"targetRef"`

	// TargetFilter restricts which Pods of the workload are placed; all by default.
	TargetFilter *TargetFilter `json:"targetFilter,omitempty"`

	// Subsets in the order in which they are filled.
	Subsets []WorkloadSpreadSubset `json:"subsets"`

	// ScheduleStrategy decides whether subsets that have no room pass their Pods on.
	ScheduleStrategy WorkloadSpreadScheduleStrategy `json:"scheduleStrategy,omitempty"`
}

// TargetFilter restricts which Pods of a workload are placed.
type TargetFilter struct {
	// Selector selects Pods by label; all by default.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// ReplicasPathList are dotted paths in the workload whose numbers add up to its replicas.
	ReplicasPathList []string `json:"replicasPathList,omitempty"`
}

// WorkloadSpreadScheduleStrategyType is whether subsets that have no room pass their Pods on.
// +kubebuilder:validation:Enum=Adaptive;Fixed;""
type WorkloadSpreadScheduleStrategyType string

// Whether subsets that have no room pass their Pods on.
const (
	// AdaptiveWorkloadSpreadScheduleStrategyType lets the next subset take over.
	AdaptiveWorkloadSpreadScheduleStrategyType WorkloadSpreadScheduleStrategyType = "Adaptive"
	// FixedWorkloadSpreadScheduleStrategyType leaves Pods pending.
	FixedWorkloadSpreadScheduleStrategyType WorkloadSpreadScheduleStrategyType = "Fixed"
)

// WorkloadSpreadScheduleStrategy decides whether subsets that have no room pass their Pods on.
type WorkloadSpreadScheduleStrategy struct {
	// Type is Fixed (the default) or Adaptive.
	Type WorkloadSpreadScheduleStrategyType `json:"type,omitempty"`

	// Adaptive tunes type Adaptive.
	Adaptive *AdaptiveWorkloadSpreadStrategy `json:"adaptive,omitempty"`
}

// AdaptiveWorkloadSpreadStrategy tunes how subsets that have no room pass their Pods on.
type AdaptiveWorkloadSpreadStrategy struct {
	// DisableSimulationSchedule is accepted and has no effect.
	DisableSimulationSchedule bool `json:"disableSimulationSchedule,omitempty"`

	// RescheduleCriticalSeconds is how long in seconds a Pod may stay unscheduled before it is placed elsewhere; never by
	// default.
	RescheduleCriticalSeconds *int32 `json:"rescheduleCriticalSeconds,omitempty"`
}

// WorkloadSpreadSubset is one group of nodes.
type WorkloadSpreadSubset struct {
	// Name of the subset, unique.
	Name string `json:"name"`

	// RequiredNodeSelector selects the nodes the subset's Pods must run on.
	RequiredNodeSelector *corev1.NodeSelectorTerm `json:"requiredNodeSelector,omitempty"`

	// PreferredNodeSelector selects the nodes the subset's Pods should run on.
	PreferredNodeSelector []corev1.PreferredSchedulingTerm `json:"preferredNodeSelector,omitempty"`

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

// WorkloadSpreadSubsetConditionSchedulable is False while Pods of the subset find no room.
const WorkloadSpreadSubsetConditionSchedulable = "Schedulable"

// WorkloadSpreadSubsetStatus is what was seen of one subset.
type WorkloadSpreadSubsetStatus struct {
	// Name of the subset.
	Name string `json:"name"`

	// Conditions are the latest observations of the subset's state.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Replicas is the number of active Pods in it.
	Replicas int32 `json:"replicas"`

	// MissingReplicas is how many more Pods it takes; -1 means without limit.
	MissingReplicas int32 `json:"missingReplicas"`

	// CreatingPods are Pods that were admitted and not seen yet, by name or id, with the time of admission.
	CreatingPods map[string]metav1.Time `json:"creatingPods,omitempty"`

	// DeletingPods are Pods whose deletion was admitted and not seen yet, by name, with the time of admission.
	DeletingPods map[string]metav1.Time `json:"deletingPods,omitempty"`
}
