package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// CloneSet runs replicas of a Pod without identity, with rolling, in-place and partitioned updates.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=clone
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".spec.replicas",description="Pods wanted"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedReplicas",description="Pods at the update revision"
// +kubebuilder:printcolumn:name="UPDATED_READY",type="integer",JSONPath=".status.updatedReadyReplicas",description="Pods at the update revision that are ready"
// +kubebuilder:printcolumn:name="UPDATED_AVAILABLE",type="integer",JSONPath=".status.updatedAvailableReplicas",description="Pods at the update revision that are available"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyReplicas",description="Pods that are ready"
// +kubebuilder:printcolumn:name="TOTAL",type="integer",JSONPath=".status.replicas",description="Pods that exist"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="CONTAINERS",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].name",description="Container names of the template"
// +kubebuilder:printcolumn:name="IMAGES",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].image",description="Container images of the template"
// +kubebuilder:printcolumn:name="SELECTOR",type="string",priority=1,JSONPath=".status.labelSelector",description="Label selector of the Pods"
type CloneSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec CloneSetSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status CloneSetStatus `json:"status,omitempty"`
}

// CloneSetList is a list of CloneSets.
//
// +kubebuilder:object:root=true
type CloneSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the CloneSets.
	Items []CloneSet `json:"items"`
}

// CloneSetSpec is what a user wants of a CloneSet.
type CloneSetSpec struct {
	// Replicas is the number of Pods; 1 by default.
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector selects the Pods; it must match the template's labels and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector"`

	// Template is the Pod to run.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`

	// VolumeClaimTemplates are claims of which every Pod gets its own; changes affect Pods created later.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// ScaleStrategy decides which Pods go and how fast new ones come.
	ScaleStrategy CloneSetScaleStrategy `json:"scaleStrategy,omitempty"`

	// UpdateStrategy decides how Pods are brought to a new template.
	UpdateStrategy CloneSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// RevisionHistoryLimit is how many unused old revisions are kept; 10 by default.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// MinReadySeconds is how long in seconds a Pod must be ready to count as available; 0 by default.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Lifecycle holds hooks at which Pods wait for consent.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`

	// ProgressDeadlineSeconds is how long in seconds a rollout may take before condition Progressing turns False; unset or
	// 2147483647 means no deadline.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// CloneSetScaleStrategy decides which Pods go and how fast new ones come.
type CloneSetScaleStrategy struct {
	// PodsToDelete are names of Pods to delete first; names of Pods that are gone are removed by the controller.
	PodsToDelete []string `json:"podsToDelete,omitempty"`

	// MaxUnavailable is how many Pods, or which percentage of replicas rounded up, may be unavailable while new ones are
	// created; no limit by default.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// EnablePVCReuse gives the claims of a Pod that somebody else deleted to its replacement, which then has the same
	// name; false by default.
	// +kubebuilder:default=false
	EnablePVCReuse bool `json:"enablePVCReuse,omitempty"`

	// ExcludePreparingDelete leaves Pods in state PreparingDelete out of the count, so that their replacements come
	// before they go; false by default.
	ExcludePreparingDelete bool `json:"excludePreparingDelete,omitempty"`
}

// CloneSetUpdateStrategyType is when Pods are brought to a new template.
type CloneSetUpdateStrategyType string

// Update strategies of a CloneSet.
const (
	// RollingUpdateCloneSetUpdateStrategyType updates Pods by itself, within the limits of rollingUpdate.
	RollingUpdateCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "RollingUpdate"
	// OnDeleteCloneSetUpdateStrategyType changes Pods only when somebody deletes them.
	OnDeleteCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "OnDelete"
)

// CloneSetUpdateStrategy decides how Pods are brought to a new template.
type CloneSetUpdateStrategy struct {
	// Type is RollingUpdate (the default) or OnDelete.
	Type CloneSetUpdateStrategyType `json:"type,omitempty"`

	// RollingUpdate tunes type RollingUpdate.
	RollingUpdate *RollingUpdateCloneSetStrategy `json:"rollingUpdate,omitempty"`
}

// RollingUpdateCloneSetStrategy tunes the rolling update of a CloneSet.
type RollingUpdateCloneSetStrategy struct {
	// PodUpdatePolicy is ReCreate (the default), InPlaceIfPossible or InPlaceOnly.
	PodUpdatePolicy PodUpdateStrategyType `json:"podUpdatePolicy,omitempty"`

	// Partition is how many Pods, or which percentage of replicas rounded up, stay on old revisions; 0 by default.
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// MaxUnavailable is how many Pods, or which percentage of replicas, may be unavailable; 20% by default. A percentage
	// is rounded up without surge, down with it.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many Pods, or which percentage of replicas rounded up, may exist above replicas; 0 by default.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// Paused stops the update; false by default.
	Paused bool `json:"paused,omitempty"`

	// PriorityStrategy decides which Pods are updated first.
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`

	// ScatterStrategy spreads Pods with the same label value over the rollout.
	ScatterStrategy []UpdateScatterTerm `json:"scatterStrategy,omitempty"`

	// InPlaceUpdateStrategy tunes in-place updates.
	InPlaceUpdateStrategy *InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`
}

// CloneSetStatus is what the controller last saw; it counts active Pods the CloneSet controls.
type CloneSetStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of Pods.
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of ready Pods.
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas is the number of Pods in service that have been ready for minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas"`

	// UpdatedReplicas is the number of Pods at the update revision.
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// UpdatedReadyReplicas is the number of ready Pods at the update revision.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`

	// UpdatedAvailableReplicas is the number of available Pods at the update revision.
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas,omitempty"`

	// ExpectedUpdatedReplicas is how many Pods shall be at the update revision: replicas less partition.
	ExpectedUpdatedReplicas int32 `json:"expectedUpdatedReplicas,omitempty"`

	// UpdateRevision names the ControllerRevision of the current template.
	UpdateRevision string `json:"updateRevision,omitempty"`

	// CurrentRevision names the ControllerRevision that was last rolled out to every Pod.
	CurrentRevision string `json:"currentRevision,omitempty"`

	// CollisionCount counts clashes of revision names.
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// Conditions are the latest observations of the CloneSet's state.
	Conditions []CloneSetCondition `json:"conditions,omitempty"`

	// LabelSelector is the selector as text, for the scale subresource.
	LabelSelector string `json:"labelSelector,omitempty"`
}

// CloneSetConditionType is the type of a CloneSet condition.
type CloneSetConditionType string

// Conditions of a CloneSet.
const (
	// CloneSetConditionFailedScale is True when Pods or claims could not be created or deleted.
	CloneSetConditionFailedScale CloneSetConditionType = "FailedScale"
	// CloneSetConditionFailedUpdate is True when Pods could not be updated.
	CloneSetConditionFailedUpdate CloneSetConditionType = "FailedUpdate"
	// CloneSetConditionTypeProgressing says how a rollout with progressDeadlineSeconds goes.
	CloneSetConditionTypeProgressing CloneSetConditionType = "Progressing"
)

// Reasons of condition Progressing.
const (
	// CloneSetAvailable means that every Pod is at the update revision and available.
	CloneSetAvailable = "CloneSetAvailable"
	// CloneSetPaused means that the rollout is paused.
	CloneSetPaused = "CloneSetPaused"
	// CloneSetProgressPartitionAvailable means that as many Pods as partition allows are updated and available.
	CloneSetProgressPartitionAvailable = "ProgressPartitionAvailable"
	// CloneSetProgressDeadlineExceeded means that the rollout took longer than progressDeadlineSeconds.
	CloneSetProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// CloneSetProgressUpdated means that the rollout goes on.
	CloneSetProgressUpdated = "CloneSetUpdated"
)

// CloneSetCondition is one observation of a CloneSet's state.
type CloneSetCondition struct {
	// Type names what is observed.
	Type CloneSetConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// LastUpdateTime is when status or reason last changed.
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitzero"`

	// LastTransitionTime is when the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Reason is one word for programs.
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
}
