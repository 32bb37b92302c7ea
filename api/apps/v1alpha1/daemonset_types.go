package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// DaemonSet runs one Pod on every node that fits; beyond the built-in kind it updates in place, by partition and by
// node.
//
// +kubebuilder:object:root=true
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

// SurgingRollingUpdateType makes the new Pod before the old one goes; maxSurge of type Standard replaces it.
const SurgingRollingUpdateType v1beta1.RollingUpdateType = "Surging"

// DaemonSetSpec is what a user wants of a DaemonSet.
type DaemonSetSpec struct {
	// Selector selects the Pods; it must match the template's labels and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector"`

	// Template is the Pod to run on each node.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`

	// UpdateStrategy decides how Pods are brought to a new template; type Surging is accepted in this version.
	UpdateStrategy v1beta1.DaemonSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// MinReadySeconds is how long in seconds a Pod must be ready to count as available; 0 by default.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// BurstReplicas is how many Pods, or which percentage of the nodes rounded down, one pass may create and delete; 250
	// by default.
	BurstReplicas *intstr.IntOrString `json:"burstReplicas,omitempty"`

	// RevisionHistoryLimit is how many unused old revisions are kept; 10 by default.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// Lifecycle holds hooks at which Pods wait for consent; inPlaceUpdate is not supported here.
	Lifecycle *v1beta1.Lifecycle `json:"lifecycle,omitempty"`
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
	Conditions []v1beta1.DaemonSetCondition `json:"conditions,omitempty"`

	// DaemonSetHash is the hash of the current template.
	DaemonSetHash string `json:"daemonSetHash,omitempty"`
}
