package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SubsetTemplate is the workload to make for each subset; exactly one field is set, and its replicas are not.
type SubsetTemplate struct {
	// StatefulSetTemplate makes built-in StatefulSets.
	StatefulSetTemplate *StatefulSetTemplateSpec `json:"statefulSetTemplate,omitempty"`

	// AdvancedStatefulSetTemplate makes StatefulSets of this group.
	AdvancedStatefulSetTemplate *AdvancedStatefulSetTemplateSpec `json:"advancedStatefulSetTemplate,omitempty"`

	// CloneSetTemplate makes CloneSets.
	CloneSetTemplate *CloneSetTemplateSpec `json:"cloneSetTemplate,omitempty"`

	// DeploymentTemplate makes Deployments.
	DeploymentTemplate *DeploymentTemplateSpec `json:"deploymentTemplate,omitempty"`
}

// StatefulSetTemplateSpec is a built-in StatefulSet to make.
type StatefulSetTemplateSpec struct {
	// Metadata holds the labels and annotations of the workload.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the spec of the workload; its selector and replicas are replaced.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Spec appsv1.StatefulSetSpec `json:"spec"`
}

// AdvancedStatefulSetTemplateSpec is a StatefulSet of this group to make.
type AdvancedStatefulSetTemplateSpec struct {
	// Metadata holds the labels and annotations of the workload.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the spec of the workload; its selector and replicas are replaced.
	Spec StatefulSetSpec `json:"spec"`
}

// CloneSetTemplateSpec is a CloneSet to make.
type CloneSetTemplateSpec struct {
	// Metadata holds the labels and annotations of the workload.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the spec of the workload; its selector and replicas are replaced.
	Spec CloneSetSpec `json:"spec"`
}

// DeploymentTemplateSpec is a Deployment to make.
type DeploymentTemplateSpec struct {
	// Metadata holds the labels and annotations of the workload.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the spec of the workload; its selector and replicas are replaced.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Spec appsv1.DeploymentSpec `json:"spec"`
}

// Subset is one group of nodes and its share of the replicas; replicas exclude minReplicas and maxReplicas.
type Subset struct {
	// Name of the subset, a DNS label.
	Name string `json:"name"`

	// NodeSelectorTerm selects the subset's nodes; it cannot be changed.
	NodeSelectorTerm corev1.NodeSelectorTerm `json:"nodeSelectorTerm,omitempty"`

	// Tolerations are added to the subset's Pods; they cannot be changed.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Replicas is the number of Pods, or the percentage of all rounded half up; an even share of the rest by default.
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`

	// MinReplicas is the number of Pods, or the percentage of all, that the subset gets before later ones get more; 0 by
	// default.
	MinReplicas *intstr.IntOrString `json:"minReplicas,omitempty"`

	// MaxReplicas is the number of Pods, or the percentage of all, that the subset never exceeds; no limit by default.
	MaxReplicas *intstr.IntOrString `json:"maxReplicas,omitempty"`

	// Patch is a strategic merge patch on the subset's Pod template.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Patch runtime.RawExtension `json:"patch,omitzero"`
}

// UnitedDeploymentScheduleStrategyType is whether subsets that have no room pass their Pods on.
// +kubebuilder:validation:Enum=Adaptive;Fixed;""
type UnitedDeploymentScheduleStrategyType string

// Whether subsets that have no room pass their Pods on.
const (
	// AdaptiveUnitedDeploymentScheduleStrategyType lets other subsets take over.
	AdaptiveUnitedDeploymentScheduleStrategyType UnitedDeploymentScheduleStrategyType = "Adaptive"
	// FixedUnitedDeploymentScheduleStrategyType leaves Pods pending.
	FixedUnitedDeploymentScheduleStrategyType UnitedDeploymentScheduleStrategyType = "Fixed"
)

// UnitedDeploymentScheduleStrategy decides whether subsets that have no room pass their Pods on.
type UnitedDeploymentScheduleStrategy struct {
	// Type is Fixed (the default) or Adaptive.
	Type UnitedDeploymentScheduleStrategyType `json:"type,omitempty"`

	// Adaptive tunes type Adaptive.
	Adaptive *AdaptiveUnitedDeploymentStrategy `json:"adaptive,omitempty"`
}

// AdaptiveUnitedDeploymentStrategy tunes how subsets that have no room pass their Pods on.
type AdaptiveUnitedDeploymentStrategy struct {
	// RescheduleCriticalSeconds is how long in seconds a Pod may stay unscheduled before its subset counts as full; 30 by
	// default.
	RescheduleCriticalSeconds *int32 `json:"rescheduleCriticalSeconds,omitempty"`

	// UnschedulableDuration is how long in seconds a subset counts as full; 300 by default.
	UnschedulableDuration *int32 `json:"unschedulableDuration,omitempty"`

	// ReserveUnschedulablePods keeps unscheduled Pods waiting in their subset while others stand in for them; false by
	// default.
	ReserveUnschedulablePods bool `json:"reserveUnschedulablePods,omitempty"`
}
