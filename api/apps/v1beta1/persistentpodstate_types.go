package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PersistentPodState brings recreated Pods of a StatefulSet back to the node or the topology they ran on.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
type PersistentPodState struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec PersistentPodStateSpec `json:"spec,omitempty"`

	// Status is what was recorded.
	Status PersistentPodStateStatus `json:"status,omitempty"`
}

// PersistentPodStateList is a list of PersistentPodStates.
//
// +kubebuilder:object:root=true
type PersistentPodStateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the PersistentPodStates.
	Items []PersistentPodState `json:"items"`
}

// PersistentPodStateSpec is what a user wants of a PersistentPodState.
type PersistentPodStateSpec struct {
	// TargetReference is the workload whose Pods are recorded; it cannot be changed.
	TargetReference TargetReference `json:"targetRef"`

	// PersistentPodAnnotations are the annotations that are recorded.
	PersistentPodAnnotations []PersistentPodAnnotation `json:"persistentPodAnnotations,omitempty"`

	// RequiredPersistentTopology binds a recreated Pod to the recorded values of node labels.
	RequiredPersistentTopology *NodeTopologyTerm `json:"requiredPersistentTopology,omitempty"`

	// PreferredPersistentTopology draws a recreated Pod to the recorded values of node labels.
	PreferredPersistentTopology []PreferredTopologyTerm `json:"preferredPersistentTopology,omitempty"`

	// PersistentPodStateRetentionPolicy is WhenScaled (the default) or WhenDeleted.
	// +kubebuilder:validation:Enum=WhenScaled;WhenDeleted
	PersistentPodStateRetentionPolicy PersistentPodStateRetentionPolicyType `json:"persistentPodStateRetentionPolicy,omitempty"`
}

// TargetReference refers to a workload in the same namespace.
type TargetReference struct {
	// APIVersion of the workload.
	APIVersion string `json:"apiVersion"`

	// Kind of the workload.
	Kind string `json:"kind"`

	// Name of the workload.
	Name string `json:"name"`
}

// PersistentPodAnnotation is an annotation that is recorded.
type PersistentPodAnnotation struct {
	// Key of the annotation.
	Key string `json:"key"`
}

// NodeTopologyTerm is a set of node labels.
type NodeTopologyTerm struct {
	// Keys are the node label keys.
	Keys []string `json:"keys"`
}

// PreferredTopologyTerm is a set of node labels with a weight.
type PreferredTopologyTerm struct {
	// Weight is how much the scheduler shall prefer such nodes.
	// +kubebuilder:validation:Minimum=0
	Weight int32 `json:"weight"`

	// Preference is the set of node labels.
	Preference NodeTopologyTerm `json:"preference"`
}

// PersistentPodStateRetentionPolicyType is when records are dropped.
type PersistentPodStateRetentionPolicyType string

// When records are dropped.
const (
	// PersistentPodStateRetentionPolicyWhenScaled drops a record when its ordinal is scaled away.
	PersistentPodStateRetentionPolicyWhenScaled PersistentPodStateRetentionPolicyType = "WhenScaled"
	// PersistentPodStateRetentionPolicyWhenDeleted drops all records when the workload is deleted.
	PersistentPodStateRetentionPolicyWhenDeleted PersistentPodStateRetentionPolicyType = "WhenDeleted"
)

// PersistentPodStateStatus is what was recorded.
type PersistentPodStateStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration"`

	// PodStates are the records by Pod name.
	PodStates map[string]PodState `json:"podStates,omitempty"`
}

// PodState is the record of one Pod.
type PodState struct {
	// NodeName is the node the Pod ran on.
	NodeName string `json:"nodeName,omitempty"`

	// NodeTopologyLabels are the node's labels among the recorded keys.
	NodeTopologyLabels map[string]string `json:"nodeTopologyLabels,omitempty"`

	// Annotations are the Pod's annotations among the recorded keys.
	Annotations map[string]string `json:"annotations,omitempty"`
}
