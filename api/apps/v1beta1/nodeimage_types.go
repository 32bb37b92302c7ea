package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeImage holds the images one node shall pull, and how far it is; it has the name and the labels of the node.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	Status NodeImageStatus `json:"status,omitempty"`
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
	Tags []ImageTagSpec `json:"tags"`

	// SandboxConfig is handed to the container runtime with each pull.
	SandboxConfig *SandboxConfig `json:"sandboxConfig,omitempty"`
}

// ReferenceObjectModeBatch marks a Secret that one copy of serves all jobs.
const ReferenceObjectModeBatch = "batch"

// ReferenceObject refers to a Secret.
type ReferenceObject struct {
	// Namespace of the Secret.
	Namespace string `json:"namespace,omitempty"`

	// Name of the Secret.
	Name string `json:"name,omitempty"`

	// Mode is `batch` for a copy shared by all jobs, or empty.
	Mode string `json:"mode,omitempty"`
}

// ImageTagSpec is one image to pull.
type ImageTagSpec struct {
	// Tag is the tag, or the digest.
	Tag string `json:"tag"`

	// CreatedAt is when the entry was made or last renewed.
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`

	// PullPolicy bounds the attempts and the life of the entry.
	PullPolicy *ImageTagPullPolicy `json:"pullPolicy,omitempty"`

	// OwnerReferences refer to the jobs that want this image.
	OwnerReferences []corev1.ObjectReference `json:"ownerReferences,omitempty"`

	// Version grows whenever the image is to be pulled once more.
	Version int64 `json:"version,omitempty"`

	// ImagePullPolicy is IfNotPresent, or Always which is also what an empty value means.
	ImagePullPolicy ImagePullPolicy `json:"imagePullPolicy,omitempty"`
}

// ImageTagPullPolicy bounds the attempts and the life of one image's entry.
type ImageTagPullPolicy struct {
	// TimeoutSeconds bounds one attempt, in seconds; 600 by default.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// BackoffLimit is the number of attempts after the first one; 3 by default.
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// TTLSecondsAfterFinished is how long in seconds the entry is kept after it ended; it must be set.
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// ActiveDeadlineSeconds is how long in seconds all attempts together may take; no deadline by default.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
}

// NodeImageStatus is what a node reports.
type NodeImageStatus struct {
	// Desired is the number of images to pull.
	Desired int32 `json:"desired"`

	// Succeeded is the number of images pulled.
	// +optional
	Succeeded int32 `json:"succeeded"`

	// Failed is the number of images that failed.
	// +optional
	Failed int32 `json:"failed"`

	// Pulling is the number of images being pulled.
	// +optional
	Pulling int32 `json:"pulling"`

	// Waiting is the number of images that wait for their turn.
	// +optional
	Waiting int32 `json:"waiting"`

	// ImageStatuses are the reports by repository name.
	ImageStatuses map[string]ImageStatus `json:"imageStatuses,omitempty"`

	// FirstSyncStatus is the report of the first pass, where somebody wrote one.
	FirstSyncStatus *SyncStatus `json:"firstSyncStatus,omitempty"`
}

// ImageStatus is the report for one repository.
type ImageStatus struct {
	// Tags are the reports per tag or digest, sorted.
	Tags []ImageTagStatus `json:"tags"`
}

// ImagePullPhase is how far one image is.
type ImagePullPhase string

// How far one image is.
const (
	// ImagePhaseWaiting means that it waits for its turn.
	ImagePhaseWaiting ImagePullPhase = "Waiting"
	// ImagePhasePulling means that it is being pulled.
	ImagePhasePulling ImagePullPhase = "Pulling"
	// ImagePhaseSucceeded means that the node has it.
	ImagePhaseSucceeded ImagePullPhase = "Succeeded"
	// ImagePhaseFailed means that all attempts failed.
	ImagePhaseFailed ImagePullPhase = "Failed"
)

// ImageTagStatus is the report for one image; it is valid only for the version it names.
type ImageTagStatus struct {
	// Tag is the tag, or the digest.
	Tag string `json:"tag"`

	// Phase is Waiting, Pulling, Succeeded or Failed.
	Phase ImagePullPhase `json:"phase"`

	// Progress is 0 until the image is there, then 100.
	Progress int32 `json:"progress,omitempty"`

	// StartTime is when the pull began.
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when the pull ended, well or not.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Version is the version of the entry that this report speaks of.
	Version int64 `json:"version,omitempty"`

	// ImageID is the repository and the runtime's id of the image.
	ImageID string `json:"imageID,omitempty"`

	// Message is the last error.
	Message string `json:"message,omitempty"`
}

// SyncStatusPhase is the outcome of a pass.
type SyncStatusPhase string

// SyncStatus is the report of a pass.
type SyncStatus struct {
	// SyncAt is when the pass ended.
	SyncAt metav1.Time `json:"syncAt,omitzero"`

	// Status is Succeeded or Failed.
	Status SyncStatusPhase `json:"status,omitempty"`

	// Message is the error of a failed pass.
	Message string `json:"message,omitempty"`
}
