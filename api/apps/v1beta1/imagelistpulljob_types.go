package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImageListPullJob pulls several images, through one ImagePullJob each.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="TOTAL",type="integer",JSONPath=".status.desired",description="Images to pull"
// +kubebuilder:printcolumn:name="SUCCEEDED",type="integer",JSONPath=".status.succeeded",description="Images that every node has"
// +kubebuilder:printcolumn:name="COMPLETED",type="integer",JSONPath=".status.completed",description="Images whose job has ended"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type ImageListPullJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec ImageListPullJobSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status ImageListPullJobStatus `json:"status,omitempty"`
}

// ImageListPullJobList is a list of ImageListPullJobs.
//
// +kubebuilder:object:root=true
type ImageListPullJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ImageListPullJobs.
	Items []ImageListPullJob `json:"items"`
}

// ImageListPullJobSpec is what a user wants of an ImageListPullJob.
type ImageListPullJobSpec struct {
	// Images are the images to pull, from 1 to 255, each once.
	Images []string `json:"images"`

	// How and where each image is pulled.
	ImagePullJobTemplate `json:",inline"`
}

// ImageListPullJobStatus is what the controller last saw.
type ImageListPullJobStatus struct {
	// Desired is the number of images.
	Desired int32 `json:"desired"`

	// Active is the number of images that some node pulls.
	// +optional
	Active int32 `json:"active"`

	// Completed is the number of images whose job has ended.
	// +optional
	Completed int32 `json:"completed"`

	// Succeeded is the number of images that every selected node has.
	// +optional
	Succeeded int32 `json:"succeeded"`

	// StartTime is when the controller took the job up.
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when the job ended.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// FailedImageStatuses are the images that failed on some node.
	FailedImageStatuses []FailedImageStatus `json:"failedImageStatuses,omitempty"`
}

// FailedImageStatus is an image that failed on some node.
type FailedImageStatus struct {
	// ImagePullJob is the name of the image's ImagePullJob.
	ImagePullJob string `json:"imagePullJob,omitempty"`

	// Name is the image.
	Name string `json:"name,omitempty"`

	// Message says where to look.
	Message string `json:"message,omitempty"`
}
