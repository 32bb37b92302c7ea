package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// ResourceDistribution puts a Secret or a ConfigMap into many namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=distributor
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="TOTAL",type="integer",JSONPath=".status.desired",description="Namespaces selected"
// +kubebuilder:printcolumn:name="SUCCEED",type="integer",JSONPath=".status.succeeded",description="Namespaces that have the resource"
// +kubebuilder:printcolumn:name="FAILED",type="integer",JSONPath=".status.failed",description="Namespaces that do not"
type ResourceDistribution struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec ResourceDistributionSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status ResourceDistributionStatus `json:"status,omitempty"`
}

// ResourceDistributionList is a list of ResourceDistributions.
//
// +kubebuilder:object:root=true
type ResourceDistributionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ResourceDistributions.
	Items []ResourceDistribution `json:"items"`
}

// ResourceDistributionSpec is what a user wants of a ResourceDistribution.
type ResourceDistributionSpec struct {
	// Resource is a whole Secret or ConfigMap; its apiVersion, kind and name cannot be changed.
	// +kubebuilder:pruning:PreserveUnknownFields
	Resource runtime.RawExtension `json:"resource"`

	// Targets are the namespaces that get it.
	Targets ResourceDistributionTargets `json:"targets"`
}

// ResourceDistributionTargets are the namespaces that get a resource: those included or selected, less those excluded;
// kube-system and kube-public never.
type ResourceDistributionTargets struct {
	// AllNamespaces includes every namespace; false by default.
	AllNamespaces bool `json:"allNamespaces,omitempty"`

	// ExcludedNamespaces are namespaces that do not get the resource.
	ExcludedNamespaces v1beta1.ResourceDistributionTargetNamespaces `json:"excludedNamespaces,omitzero"`

	// IncludedNamespaces are namespaces that get the resource.
	IncludedNamespaces v1beta1.ResourceDistributionTargetNamespaces `json:"includedNamespaces,omitzero"`

	// NamespaceLabelSelector selects namespaces by label; empty selects none.
	NamespaceLabelSelector metav1.LabelSelector `json:"namespaceLabelSelector,omitzero"`
}

// ResourceDistributionStatus is what the controller last saw.
type ResourceDistributionStatus struct {
	// Desired is the number of namespaces selected.
	// +optional
	Desired int32 `json:"desired"`

	// Succeeded is the number of namespaces that have the resource.
	// +optional
	Succeeded int32 `json:"succeeded"`

	// Failed is the number of namespaces that do not.
	// +optional
	Failed int32 `json:"failed"`

	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say what went wrong and where, one for each kind of failure.
	Conditions []ResourceDistributionCondition `json:"conditions,omitempty"`
}

// ResourceDistributionCondition says whether one kind of failure happened.
type ResourceDistributionCondition struct {
	// Type is the kind of failure.
	Type v1beta1.ResourceDistributionConditionType `json:"type"`

	// Status is True when it happened in some namespace.
	Status corev1.ConditionStatus `json:"status"`

	// LastTransitionTime is when the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Reason is the last error, or Succeeded.
	Reason string `json:"reason,omitempty"`

	// FailedNamespaces are the namespaces where it happened; the name in JSON is in the singular.
	FailedNamespaces []string `json:"failedNamespace,omitempty"`
}
