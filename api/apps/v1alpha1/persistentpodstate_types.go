package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// PersistentPodState brings recreated Pods of a StatefulSet back to the node or the topology they ran on.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type PersistentPodState struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec PersistentPodStateSpec `json:"spec,omitempty"`

	// Status is what was recorded.
	Status v1beta1.PersistentPodStateStatus `json:"status,omitempty"`
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
	TargetReference v1beta1.TargetReference `json:"targetRef"`

	// PersistentPodAnnotations are the annotations that are recorded.
	PersistentPodAnnotations []v1beta1.PersistentPodAnnotation `json:"persistentPodAnnotations,omitempty"`

	// RequiredPersistentTopology binds a recreated Pod to the recorded values of node labels.
	RequiredPersistentTopology *NodeTopologyTerm `json:"requiredPersistentTopology,omitempty"`

	// PreferredPersistentTopology draws a recreated Pod to the recorded values of node labels.
	PreferredPersistentTopology []PreferredTopologyTerm `json:"preferredPersistentTopology,omitempty"`

	// PersistentPodStateRetentionPolicy is WhenScaled (the default) or WhenDeleted.
	PersistentPodStateRetentionPolicy v1beta1.PersistentPodStateRetentionPolicyType `json:"persistentPodStateRetentionPolicy,omitempty"`
}

// NodeTopologyTerm is a set of node labels.
type NodeTopologyTerm struct {
	// NodeTopologyKeys are the node label keys.
	NodeTopologyKeys []string `json:"nodeTopologyKeys"`
}

// PreferredTopologyTerm is a set of node labels with a weight.
type PreferredTopologyTerm struct {
	// Weight is how much the scheduler shall prefer such nodes.
	Weight int32 `json:"weight"`

	// Preference is the set of node labels.
	Preference NodeTopologyTerm `json:"preference"`
}
