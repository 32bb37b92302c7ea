package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UnitedDeployment spreads replicas over subsets of nodes, with one workload for each.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=ud
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".spec.replicas",description="Pods wanted"
// +kubebuilder:printcolumn:name="CURRENT",type="integer",JSONPath=".status.replicas",description="Pods that exist"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedReplicas",description="Pods at the updated revision"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyReplicas",description="Pods that are ready"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type UnitedDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec UnitedDeploymentSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status UnitedDeploymentStatus `json:"status,omitempty"`
}

// UnitedDeploymentList is a list of UnitedDeployments.
//
// +kubebuilder:object:root=true
type UnitedDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the UnitedDeployments.
	Items []UnitedDeployment `json:"items"`
}

// UnitedDeploymentSpec is what a user wants of a UnitedDeployment.
type UnitedDeploymentSpec struct {
	// Replicas is the number of Pods over all subsets; 1 by default.
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector selects the Pods; it must match the template's labels.
	Selector *metav1.LabelSelector `json:"selector"`

	// Template is the workload to make for each subset.
	Template SubsetTemplate `json:"template,omitempty"`

	// Topology are the subsets.
	Topology Topology `json:"topology,omitempty"`

	// UpdateStrategy decides how subsets are brought to a new template.
	UpdateStrategy UnitedDeploymentUpdateStrategy `json:"updateStrategy,omitempty"`

	// RevisionHistoryLimit is how many unused old revisions are kept; 10 by default.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// Topology are the subsets of a UnitedDeployment.
type Topology struct {
	// Subsets in the order in which they are filled.
	Subsets []Subset `json:"subsets,omitempty"`

	// ScheduleStrategy decides whether subsets that have no room pass their Pods on.
	ScheduleStrategy UnitedDeploymentScheduleStrategy `json:"scheduleStrategy,omitempty"`
}

// UpdateStrategyType is how a UnitedDeployment is brought to a new template.
// +kubebuilder:validation:Enum=Manual;""
type UpdateStrategyType string

// ManualUpdateStrategyType holds back as many Pods of each subset as its partition says.
const ManualUpdateStrategyType UpdateStrategyType = "Manual"

// UnitedDeploymentUpdateStrategy decides how subsets are brought to a new template.
type UnitedDeploymentUpdateStrategy struct {
	// Type is Manual, which is the default.
	Type UpdateStrategyType `json:"type,omitempty"`

	// ManualUpdate tunes type Manual.
	ManualUpdate *ManualUpdate `json:"manualUpdate,omitempty"`
}

// ManualUpdate says how many Pods of each subset stay on the old revision.
type ManualUpdate struct {
	// Partitions are numbers of Pods by name of the subset; 0 for those not named.
	Partitions map[string]int32 `json:"partitions,omitempty"`
}

// UnitedDeploymentConditionType is the type of a UnitedDeployment condition.
type UnitedDeploymentConditionType string

// Conditions of a UnitedDeployment.
const (
	// SubsetProvisioned is True when every subset has its workload.
	SubsetProvisioned UnitedDeploymentConditionType = "SubsetProvisioned"
	// SubsetUpdated is True when every subset was brought to what it shall be.
	SubsetUpdated UnitedDeploymentConditionType = "SubsetUpdated"
	// SubsetFailure is True when a subset's workload reports a failure.
	SubsetFailure UnitedDeploymentConditionType = "SubsetFailure"
	// UnitedDeploymentUpdated is True when all Pods are at the updated revision.
	UnitedDeploymentUpdated UnitedDeploymentConditionType = "UnitedDeploymentUpdated"
)

// UnitedDeploymentCondition is one observation of a UnitedDeployment's state.
type UnitedDeploymentCondition struct {
	// Type names what is observed.
	Type UnitedDeploymentConditionType `json:"type,omitempty"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status,omitempty"`

	// LastTransitionTime is when the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Reason is one word for programs.
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
}

// UnitedDeploymentStatus is what the controller last saw.
type UnitedDeploymentStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// ReadyReplicas is the number of ready Pods.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// Replicas is the number of Pods, reserved ones left out.
	Replicas int32 `json:"replicas"`

	// UpdatedReplicas is the number of Pods at the updated revision.
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// UpdatedReadyReplicas is the number of ready Pods at the updated revision.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`

	// ReservedPods is the number of Pods that wait for room while others replace them.
	ReservedPods int32 `json:"reservedPods,omitempty"`

	// CollisionCount counts clashes of revision names.
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// CurrentRevision names the ControllerRevision that was last rolled out to every Pod.
	CurrentRevision string `json:"currentRevision"`

	// UpdatedRevision names the ControllerRevision of the current template.
	UpdatedRevision string `json:"updatedRevision,omitempty"`

	// SubsetStatuses say per subset what was seen.
	SubsetStatuses []UnitedDeploymentSubsetStatus `json:"subsetStatuses,omitempty"`

	// Conditions are the latest observations of the UnitedDeployment's state.
	Conditions []UnitedDeploymentCondition `json:"conditions,omitempty"`

	// LabelSelector is the selector as text, for the scale subresource.
	LabelSelector string `json:"labelSelector,omitempty"`
}

// UnitedDeploymentSubsetStatus is what was seen of one subset.
type UnitedDeploymentSubsetStatus struct {
	// Name of the subset.
	Name string `json:"name,omitempty"`

	// Replicas is the number of Pods given to it.
	Replicas int32 `json:"replicas,omitempty"`

	// ReadyReplicas is the number of its ready Pods.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// Partition is the number of its Pods that stay on the old revision.
	Partition int32 `json:"partition,omitempty"`

	// ReservedPods is the number of its Pods that wait for room while others replace them.
	ReservedPods int32 `json:"reservedPods,omitempty"`

	// Conditions are the latest observations of the subset's state.
	Conditions []UnitedDeploymentSubsetCondition `json:"conditions,omitempty"`
}

// UnitedDeploymentSubsetConditionType is the type of a subset condition.
type UnitedDeploymentSubsetConditionType string

// UnitedDeploymentSubsetSchedulable is False while Pods of the subset find no room.
const UnitedDeploymentSubsetSchedulable UnitedDeploymentSubsetConditionType = "Schedulable"

// UnitedDeploymentSubsetCondition is one observation of a subset's state.
type UnitedDeploymentSubsetCondition struct {
	// Type names what is observed.
	Type UnitedDeploymentSubsetConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// LastTransitionTime is when the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Reason is one word for programs.
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
}
