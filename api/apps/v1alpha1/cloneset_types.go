package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// CloneSet runs replicas of a Pod without identity, with rolling, in-place and partitioned updates.
//
// +kubebuilder:object:root=true
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
	Status v1beta1.CloneSetStatus `json:"status,omitempty"`
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
	Lifecycle *v1beta1.Lifecycle `json:"lifecycle,omitempty"`

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

	// DisablePVCReuse gives the replacement of a Pod that somebody else deleted new claims and a new name; false by
	// default.
	DisablePVCReuse bool `json:"disablePVCReuse,omitempty"`
}

// CloneSetUpdateStrategyType is when and how Pods are brought to a new template.
type CloneSetUpdateStrategyType string

// Update strategies of a CloneSet.
const (
	// RecreateCloneSetUpdateStrategyType deletes Pods and makes new ones.
	RecreateCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "ReCreate"
	// InPlaceIfPossibleCloneSetUpdateStrategyType changes Pods in place where the change allows it, else recreates them.
	InPlaceIfPossibleCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "InPlaceIfPossible"
	// InPlaceOnlyCloneSetUpdateStrategyType changes Pods in place and never deletes them.
	InPlaceOnlyCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "InPlaceOnly"
	// OnDeleteCloneSetUpdateStrategyType changes Pods only when somebody deletes them.
	OnDeleteCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "OnDelete"
)

// CloneSetUpdateStrategy decides how Pods are brought to a new template.
type CloneSetUpdateStrategy struct {
	// Type is ReCreate (the default), InPlaceIfPossible, InPlaceOnly or OnDelete.
	Type CloneSetUpdateStrategyType `json:"type,omitempty"`

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
	PriorityStrategy *v1beta1.UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`

	// ScatterStrategy spreads Pods with the same label value over the rollout.
	ScatterStrategy []v1beta1.UpdateScatterTerm `json:"scatterStrategy,omitempty"`

	// InPlaceUpdateStrategy tunes in-place updates; annotations, not its image fields, tune downloads in this version.
	InPlaceUpdateStrategy *v1beta1.InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`
}
