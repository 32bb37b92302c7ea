package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// UnitedDeployment spreads replicas over subsets of nodes, with one workload for each.
//
// +kubebuilder:object:root=true
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
	Spec v1beta1.UnitedDeploymentSpec `json:"spec,omitempty"`

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

	// SubsetReplicas are the numbers of Pods given to the subsets, by name.
	SubsetReplicas map[string]int32 `json:"subsetReplicas,omitempty"`

	// SubsetStatuses say per subset what was seen.
	SubsetStatuses []v1beta1.UnitedDeploymentSubsetStatus `json:"subsetStatuses,omitempty"`

	// Conditions are the latest observations of the UnitedDeployment's state.
	Conditions []v1beta1.UnitedDeploymentCondition `json:"conditions,omitempty"`

	// UpdateStatus says how far the update is.
	UpdateStatus *UpdateStatus `json:"updateStatus,omitempty"`

	// LabelSelector is the selector as text, for the scale subresource.
	LabelSelector string `json:"labelSelector,omitempty"`
}

// UpdateStatus says how far the update of a UnitedDeployment is.
type UpdateStatus struct {
	// UpdatedRevision names the ControllerRevision of the current template.
	UpdatedRevision string `json:"updatedRevision,omitempty"`

	// CurrentPartitions are the numbers of Pods that stay on the old revision, by name of the subset.
	CurrentPartitions map[string]int32 `json:"currentPartitions,omitempty"`
}
