package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// StatefulSet runs Pods with identity and claims of their own; beyond the built-in kind it updates several at a time, in
// place, and keeps chosen ordinals free.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=sts;asts
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".spec.replicas",description="Pods wanted"
// +kubebuilder:printcolumn:name="CURRENT",type="integer",JSONPath=".status.replicas",description="Pods that exist"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedReplicas",description="Pods at the update revision"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyReplicas",description="Pods that are ready"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="CONTAINERS",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].name",description="Container names of the template"
// +kubebuilder:printcolumn:name="IMAGES",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].image",description="Container images of the template"
type StatefulSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec StatefulSetSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status StatefulSetStatus `json:"status,omitempty"`
}

// StatefulSetList is a list of StatefulSets.
//
// +kubebuilder:object:root=true
type StatefulSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the StatefulSets.
	Items []StatefulSet `json:"items"`
}

// StatefulSetSpec is what a user wants of a StatefulSet.
type StatefulSetSpec struct {
	// Replicas is the number of Pods; 1 by default.
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector selects the Pods; it must match the template's labels and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector"`

	// Template is the Pod to run.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`

	// VolumeClaimTemplates are claims of which every ordinal has its own; changes affect claims created later, unless
	// volumeClaimUpdateStrategy says otherwise.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// VolumeClaimUpdateStrategy decides whether existing claims follow a change of their templates.
	VolumeClaimUpdateStrategy VolumeClaimUpdateStrategy `json:"volumeClaimUpdateStrategy,omitempty"`

	// ServiceName is the headless Service that gives the Pods their names; it cannot be changed.
	ServiceName string `json:"serviceName,omitempty"`

	// PodManagementPolicy is OrderedReady (the default) or Parallel; it cannot be changed.
	PodManagementPolicy appsv1.PodManagementPolicyType `json:"podManagementPolicy,omitempty"`

	// UpdateStrategy decides how Pods are brought to a new template.
	UpdateStrategy StatefulSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// RevisionHistoryLimit is how many unused old revisions are kept; 10 by default.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// ReserveOrdinals are ordinals the set must not use, as numbers or as ranges such as "2-5".
	ReserveOrdinals []intstr.IntOrString `json:"reserveOrdinals,omitempty"`

	// Lifecycle holds hooks at which Pods wait for consent.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`

	// ScaleStrategy bounds how fast the set scales; without it there is no bound.
	ScaleStrategy *StatefulSetScaleStrategy `json:"scaleStrategy,omitempty"`

	// PersistentVolumeClaimRetentionPolicy decides what happens to claims; Retain in both cases by default.
	PersistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`

	// Ordinals tunes how ordinals are given.
	Ordinals *StatefulSetOrdinals `json:"ordinals,omitempty"`
}

// VolumeClaimUpdateStrategyType is when existing claims follow their templates.
type VolumeClaimUpdateStrategyType string

// When existing claims follow their templates.
const (
	// OnPVCDeleteVolumeClaimUpdateStrategyType leaves existing claims as they are.
	OnPVCDeleteVolumeClaimUpdateStrategyType VolumeClaimUpdateStrategyType = "OnDelete"
	// OnPodRollingUpdateVolumeClaimUpdateStrategyType resizes a Pod's claims when the rolling update reaches it.
	OnPodRollingUpdateVolumeClaimUpdateStrategyType VolumeClaimUpdateStrategyType = "OnPodRollingUpdate"
)

// VolumeClaimUpdateStrategy decides whether existing claims follow a change of their templates.
type VolumeClaimUpdateStrategy struct {
	// Type is OnDelete (the default) or OnPodRollingUpdate.
	Type VolumeClaimUpdateStrategyType `json:"type,omitempty"`
}

// StatefulSetUpdateStrategy decides how Pods are brought to a new template.
type StatefulSetUpdateStrategy struct {
	// Type is RollingUpdate (the default) or OnDelete.
	Type appsv1.StatefulSetUpdateStrategyType `json:"type,omitempty"`

	// RollingUpdate tunes type RollingUpdate; it is forbidden with OnDelete.
	RollingUpdate *RollingUpdateStatefulSetStrategy `json:"rollingUpdate,omitempty"`
}

// RollingUpdateStatefulSetStrategy tunes the rolling update of a StatefulSet.
type RollingUpdateStatefulSetStrategy struct {
	// Partition is the number of Pods that stay on the old revision; 0 by default.
	Partition *int32 `json:"partition,omitempty"`

	// MaxUnavailable is how many Pods, or which percentage of replicas rounded down, may be unavailable; 1 by default and
	// never less. Another value needs podManagementPolicy Parallel.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// PodUpdatePolicy is ReCreate (the default), InPlaceIfPossible or InPlaceOnly.
	PodUpdatePolicy PodUpdateStrategyType `json:"podUpdatePolicy,omitempty"`

	// Paused stops the update; false by default.
	Paused bool `json:"paused,omitempty"`

	// UnorderedUpdate updates Pods by priority instead of by ordinal; it needs podManagementPolicy Parallel.
	UnorderedUpdate *UnorderedUpdateStrategy `json:"unorderedUpdate,omitempty"`

	// InPlaceUpdateStrategy tunes in-place updates.
	InPlaceUpdateStrategy *InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`

	// MinReadySeconds is how long in seconds a Pod must be ready to count as available; 0 by default, 300 at most.
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
}

// UnorderedUpdateStrategy updates Pods by priority instead of by ordinal.
type UnorderedUpdateStrategy struct {
	// PriorityStrategy decides which Pods are updated first.
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`
}

// StatefulSetScaleStrategy bounds how fast a StatefulSet scales.
type StatefulSetScaleStrategy struct {
	// MaxUnavailable is how many Pods, or which percentage of replicas rounded down, may be unavailable while the set
	// scales; at least 1, without limit when unset. Another value than 1 needs podManagementPolicy Parallel.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// PersistentVolumeClaimRetentionPolicyType is what happens to a claim whose Pod is no longer wanted.
type PersistentVolumeClaimRetentionPolicyType string

// What happens to a claim whose Pod is no longer wanted.
const (
	// RetainPersistentVolumeClaimRetentionPolicyType keeps the claim.
	RetainPersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Retain"
	// DeletePersistentVolumeClaimRetentionPolicyType deletes the claim.
	DeletePersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Delete"
)

// StatefulSetPersistentVolumeClaimRetentionPolicy decides what happens to claims.
type StatefulSetPersistentVolumeClaimRetentionPolicy struct {
	// WhenDeleted is Retain (the default) or Delete, for the time the set is deleted.
	WhenDeleted PersistentVolumeClaimRetentionPolicyType `json:"whenDeleted,omitempty"`

	// WhenScaled is Retain (the default) or Delete, for Pods that a scale-down or a reserved ordinal removes.
	WhenScaled PersistentVolumeClaimRetentionPolicyType `json:"whenScaled,omitempty"`
}

// StatefulSetOrdinals tunes how ordinals are given.
type StatefulSetOrdinals struct {
	// Start is the first ordinal; 0 by default, read only with feature gate StatefulSetStartOrdinal.
	Start int32 `json:"start,omitempty"`
}

// StatefulSetStatus is what the controller last saw.
type StatefulSetStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of Pods.
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of ready Pods.
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas is the number of Pods that have been ready for minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas"`

	// CurrentReplicas is the number of Pods at the current revision.
	CurrentReplicas int32 `json:"currentReplicas"`

	// UpdatedReplicas is the number of Pods at the update revision.
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// UpdatedReadyReplicas is the number of ready Pods at the update revision.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`

	// UpdatedAvailableReplicas is the number of available Pods at the update revision.
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas,omitempty"`

	// CurrentRevision names the ControllerRevision that was last rolled out to every Pod.
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision names the ControllerRevision of the current template.
	UpdateRevision string `json:"updateRevision,omitempty"`

	// CollisionCount counts clashes of revision names.
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// Conditions are the latest observations of the set's state.
	Conditions []StatefulSetCondition `json:"conditions,omitempty"`

	// LabelSelector is the selector as text, for the scale subresource.
	LabelSelector string `json:"labelSelector,omitempty"`

	// VolumeClaims says per claim template how many claims follow it.
	VolumeClaims []VolumeClaimStatus `json:"volumeClaims,omitempty"`
}

// VolumeClaimStatus says how many claims follow one claim template.
type VolumeClaimStatus struct {
	// VolumeClaimName is the name of the claim template.
	VolumeClaimName string `json:"volumeClaimName"`

	// CompatibleReplicas is the number of Pods whose claim asks for at least what the template asks for.
	CompatibleReplicas int32 `json:"compatibleReplicas"`

	// CompatibleReadyReplicas is the number of those whose volume already has that capacity.
	CompatibleReadyReplicas int32 `json:"compatibleReadyReplicas"`
}

// StatefulSetConditionType is the type of a StatefulSet condition.
type StatefulSetConditionType string

// Conditions of a StatefulSet.
const (
	// FailedCreatePod is True when the last pass could not create a Pod.
	FailedCreatePod StatefulSetConditionType = "FailedCreatePod"
	// FailedUpdatePod is True when the last pass could not update a Pod.
	FailedUpdatePod StatefulSetConditionType = "FailedUpdatePod"
)

// StatefulSetCondition is one observation of a StatefulSet's state.
type StatefulSetCondition struct {
	// Type names what is observed.
	Type StatefulSetConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// LastTransitionTime is when the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Reason is one word for programs.
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
}
