package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DaemonSet runs one Pod on every node that fits; beyond the built-in kind it updates in place, by partition and by
// node.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=daemon;ads
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".status.desiredNumberScheduled",description="Nodes that shall run a Pod"
// +kubebuilder:printcolumn:name="CURRENT",type="integer",JSONPath=".status.currentNumberScheduled",description="Nodes that have a Pod"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.numberReady",description="Nodes whose Pod is ready"
// +kubebuilder:printcolumn:name="UP-TO-DATE",type="integer",JSONPath=".status.updatedNumberScheduled",description="Nodes whose Pod is up to date"
// +kubebuilder:printcolumn:name="AVAILABLE",type="integer",JSONPath=".status.numberAvailable",description="Nodes whose Pod is available"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="CONTAINERS",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].name",description="Container names of the template"
// +kubebuilder:printcolumn:name="IMAGES",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].image",description="Container images of the template"
type DaemonSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec DaemonSetSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status DaemonSetStatus `json:"status,omitempty"`
}

// DaemonSetList is a list of DaemonSets.
//
// +kubebuilder:object:root=true
type DaemonSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the DaemonSets.
	Items []DaemonSet `json:"items"`
}

// DaemonSetSpec is what a user wants of a DaemonSet.
type DaemonSetSpec struct {
	// Selector selects the Pods; it must match the template's labels and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector"`

	// Template is the Pod to run on each node.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`

	// UpdateStrategy decides how Pods are brought to a new template.
	UpdateStrategy DaemonSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// MinReadySeconds is how long in seconds a Pod must be ready to count as available; 0 by default.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// BurstReplicas is how many Pods, or which percentage of the nodes rounded down, one pass may create and delete; 250
	// by default.
	BurstReplicas *intstr.IntOrString `json:"burstReplicas,omitempty"`

	// RevisionHistoryLimit is how many unused old revisions are kept; 10 by default.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// Lifecycle holds hooks at which Pods wait for consent; inPlaceUpdate is not supported here.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`

	// ScaleStrategy decides how Pods come to nodes.
	ScaleStrategy *DaemonSetScaleStrategy `json:"scaleStrategy,omitempty"`
}

// DaemonSetScaleStrategy decides how Pods come to nodes.
type DaemonSetScaleStrategy struct {
	// PartitionedScaling also holds the creation of Pods to rollingUpdate.partition; false by default.
	PartitionedScaling bool `json:"partitionedScaling,omitempty"`
}

// DaemonSetUpdateStrategyType is when Pods are brought to a new template.
type DaemonSetUpdateStrategyType string

// Update strategies of a DaemonSet.
const (
	// RollingUpdateDaemonSetStrategyType updates Pods by itself.
	RollingUpdateDaemonSetStrategyType DaemonSetUpdateStrategyType = "RollingUpdate"
	// OnDeleteDaemonSetStrategyType changes Pods only when somebody deletes them.
	OnDeleteDaemonSetStrategyType DaemonSetUpdateStrategyType = "OnDelete"
)

// DaemonSetUpdateStrategy decides how Pods are brought to a new template.
type DaemonSetUpdateStrategy struct {
	// Type is RollingUpdate (the default) or OnDelete.
	Type DaemonSetUpdateStrategyType `json:"type,omitempty"`

	// RollingUpdate tunes type RollingUpdate.
	RollingUpdate *RollingUpdateDaemonSet `json:"rollingUpdate,omitempty"`
}

// RollingUpdateType is how a Pod of a DaemonSet is brought to a new template.
type RollingUpdateType string

// Ways to bring a Pod of a DaemonSet to a new template.
const (
	// StandardRollingUpdateType deletes the Pod and makes a new one, before or after as maxSurge says.
	StandardRollingUpdateType RollingUpdateType = "Standard"
	// InplaceRollingUpdateType changes the Pod in place where the change allows it.
	InplaceRollingUpdateType RollingUpdateType = "InPlaceIfPossible"
)

// RollingUpdateDaemonSet tunes the rolling update of a DaemonSet.
type RollingUpdateDaemonSet struct {
	// RollingUpdateType is Standard (the default) or InPlaceIfPossible.
	RollingUpdateType RollingUpdateType `json:"rollingUpdateType,omitempty"`

	// MaxUnavailable is how many nodes, or which percentage rounded up, may be without an available Pod; 1 by default
	// when maxSurge is unset too.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many nodes, or which percentage rounded up, may run the old and the new Pod at a time; 0 by
	// default.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// Selector selects, by node labels, the nodes whose Pods are updated; all by default.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Partition is how many nodes, or which percentage rounded down, stay on the old version; 0 by default.
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// Paused stops the update; false by default.
	Paused *bool `json:"paused,omitempty"`
}

// DaemonSetStatus is what the controller last saw.
type DaemonSetStatus struct {
	// CurrentNumberScheduled is the number of nodes that shall have a Pod and have one.
	CurrentNumberScheduled int32 `json:"currentNumberScheduled"`

	// NumberMisscheduled is the number of nodes that have a Pod and shall not.
	NumberMisscheduled int32 `json:"numberMisscheduled"`

	// DesiredNumberScheduled is the number of nodes that shall have a Pod.
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled"`

	// NumberReady is the number of nodes whose Pod is ready.
	NumberReady int32 `json:"numberReady"`

	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// UpdatedNumberScheduled is the number of nodes whose Pod is up to date.
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled"`

	// NumberAvailable is the number of nodes whose Pod has been ready for minReadySeconds.
	NumberAvailable int32 `json:"numberAvailable,omitempty"`

	// NumberUnavailable is the number of nodes that shall have an available Pod and have none.
	NumberUnavailable int32 `json:"numberUnavailable,omitempty"`

	// CollisionCount counts clashes of revision names.
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// Conditions are the latest observations of the set's state.
	Conditions []DaemonSetCondition `json:"conditions,omitempty"`

	// UpdateRevision is the hash of the current template.
	UpdateRevision string `json:"updateRevision,omitempty"`
}

// DaemonSetConditionType is the type of a DaemonSet condition.
type DaemonSetConditionType string

// DaemonSetCondition is one observation of a DaemonSet's state.
type DaemonSetCondition struct {
	// Type names what is observed.
	Type DaemonSetConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// LastTransitionTime is when the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Reason is one word for programs.
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
}
