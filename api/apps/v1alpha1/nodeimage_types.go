package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// NodeImage holds the images one node shall pull, and how far it is; it has the name and the labels of the node.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".status.desired",description="Images to pull"
// +kubebuilder:printcolumn:name="PULLING",type="integer",JSONPath=".status.pulling",description="Images being pulled"
// +kubebuilder:printcolumn:name="SUCCEED",type="integer",JSONPath=".status.succeeded",description="Images pulled"
// +kubebuilder:printcolumn:name="FAILED",type="integer",JSONPath=".status.failed",description="Images that failed"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type NodeImage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the node shall pull.
	Spec NodeImageSpec `json:"spec,omitempty"`

	// Status is what the node reports.
	Status v1beta1.NodeImageStatus `json:"status,omitempty"`
}

// NodeImageList is a list of NodeImages.
//
// +kubebuilder:object:root=true
type NodeImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the NodeImages.
	Items []NodeImage `json:"items"`
}

// NodeImageSpec is what a node shall pull.
type NodeImageSpec struct {
	// Images are the images by repository name, 256 at most.
	Images map[string]ImageSpec `json:"images,omitempty"`
}

// ImageSpec is what a node shall pull of one repository.
type ImageSpec struct {
	// PullSecrets refer to the Secrets for this repository.
	PullSecrets []ReferenceObject `json:"pullSecrets,omitempty"`

	// Tags are the tags or digests to pull, sorted.
	Tags []v1beta1.ImageTagSpec `json:"tags"`

	// SandboxConfig is handed to the container runtime with each pull.
	SandboxConfig *v1beta1.SandboxConfig `json:"sandboxConfig,omitempty"`
}

// ReferenceObject refers to a Secret.
type ReferenceObject struct {
	// Namespace of the Secret.
	Namespace string `json:"namespace,omitempty"`

	// Name of the Secret.
	Name string `json:"name,omitempty"`
}
