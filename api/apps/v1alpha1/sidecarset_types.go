package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// SidecarSet injects containers into the Pods it selects and upgrades them independently of the Pods' workloads.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="MATCHED",type="integer",JSONPath=".status.matchedPods",description="Pods that carry the sidecars"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedPods",description="Pods whose sidecars are up to date"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyPods",description="Pods that are ready"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type SidecarSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec SidecarSetSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status v1beta1.SidecarSetStatus `json:"status,omitempty"`
}

// SidecarSetList is a list of SidecarSets.
//
// +kubebuilder:object:root=true
type SidecarSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the SidecarSets.
	Items []SidecarSet `json:"items"`
}

// SidecarSetSpec is what a user wants of a SidecarSet.
type SidecarSetSpec struct {
	// Selector selects the Pods by label; it must not be empty.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Namespace restricts the SidecarSet to one namespace; it excludes namespaceSelector.
	Namespace string `json:"namespace,omitempty"`

	// NamespaceSelector selects the Pods' namespaces by label; all by default.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// InitContainers are injected when a Pod is created and never changed.
	InitContainers []v1beta1.SidecarContainer `json:"initContainers,omitempty"`

	// Containers are injected when a Pod is created; their images can be upgraded in place.
	Containers []v1beta1.SidecarContainer `json:"containers,omitempty"`

	// Volumes are volumes for the sidecars; only those that a sidecar mounts are injected.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// UpdateStrategy decides how sidecars of existing Pods are upgraded.
	UpdateStrategy v1beta1.SidecarSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// InjectionStrategy decides what new Pods get.
	InjectionStrategy v1beta1.SidecarSetInjectionStrategy `json:"injectionStrategy,omitempty"`

	// ImagePullSecrets are added to the Pods.
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// RevisionHistoryLimit is how many revisions are kept; 10 by default, at least 1.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// PatchPodMetadata are annotations to put on the Pods.
	PatchPodMetadata []v1beta1.SidecarSetPatchPodMetadata `json:"patchPodMetadata,omitempty"`
}
