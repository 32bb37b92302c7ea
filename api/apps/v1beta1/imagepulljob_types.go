package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ImagePullJob pulls an image on many nodes before Pods need it.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="TOTAL",type="integer",JSONPath=".status.desired",description="Nodes selected"
// +kubebuilder:printcolumn:name="ACTIVE",type="integer",JSONPath=".status.active",description="Nodes that pull"
// +kubebuilder:printcolumn:name="SUCCEED",type="integer",JSONPath=".status.succeeded",description="Nodes that have the image"
// +kubebuilder:printcolumn:name="FAILED",type="integer",JSONPath=".status.failed",description="Nodes that failed"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type ImagePullJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec ImagePullJobSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status ImagePullJobStatus `json:"status,omitempty"`
}

// ImagePullJobList is a list of ImagePullJobs.
//
// +kubebuilder:object:root=true
type ImagePullJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ImagePullJobs.
	Items []ImagePullJob `json:"items"`
}

// ImagePullJobSpec is what a user wants of an ImagePullJob.
type ImagePullJobSpec struct {
	// Image is the image to pull, by tag or digest.
	Image string `json:"image"`

	// How and where it is pulled.
	ImagePullJobTemplate `json:",inline"`
}

// ImagePullJobTemplate is how and where images are pulled.
type ImagePullJobTemplate struct {
	// PullSecrets are names of Secrets in the job's namespace; they cannot be changed.
	PullSecrets []string `json:"pullSecrets,omitempty"`

	// Selector selects nodes by name or label; all by default. It excludes podSelector.
	Selector *ImagePullJobNodeSelector `json:"selector,omitempty"`

	// PodSelector selects the nodes that run matching Pods of the job's namespace; it excludes selector.
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`

	// Parallelism is how many nodes pull at a time, a number; 1 by default, 0 pauses the job.
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty"`

	// PullPolicy bounds the attempts on one node.
	PullPolicy *PullPolicy `json:"pullPolicy,omitempty"`

	// CompletionPolicy decides when the job is over.
	CompletionPolicy CompletionPolicy `json:"completionPolicy"`

	// SandboxConfig is handed to the container runtime with the pull.
	SandboxConfig *SandboxConfig `json:"sandboxConfig,omitempty"`

	// ImagePullPolicy is IfNotPresent (the default) or Always.
	ImagePullPolicy ImagePullPolicy `json:"imagePullPolicy,omitempty"`
}

// ImagePullJobNodeSelector selects nodes; names exclude labels.
type ImagePullJobNodeSelector struct {
	// Names are names of nodes.
	Names []string `json:"names,omitempty"`

	// Labels the nodes must have.
	metav1.LabelSelector `json:",inline"`
}

// ImagePullPolicy is whether an image that a node already has is pulled again.
type ImagePullPolicy string

// Whether an image that a node already has is pulled again.
const (
	// PullAlways pulls it again.
	PullAlways ImagePullPolicy = ImagePullPolicy(corev1.PullAlways)
	// PullIfNotPresent does not.
	PullIfNotPresent ImagePullPolicy = ImagePullPolicy(corev1.PullIfNotPresent)
)

// PullPolicy bounds the attempts on one node.
type PullPolicy struct {
	// TimeoutSeconds bounds one attempt, in seconds; 600 by default.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// BackoffLimit is the number of attempts after the first one; 3 by default.
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}

// SandboxConfig is handed to the container runtime with a pull.
type SandboxConfig struct {
	// Labels of the sandbox.
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations of the sandbox.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ImagePullJobStatus is what the controller last saw.
type ImagePullJobStatus struct {
	// StartTime is when the controller took the job up.
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when the job ended.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Desired is the number of nodes selected.
	Desired int32 `json:"desired"`

	// Active is the number of nodes that pull.
	// +optional
	Active int32 `json:"active"`

	// Succeeded is the number of nodes that have the image.
	// +optional
	Succeeded int32 `json:"succeeded"`

	// Failed is the number of nodes that failed.
	// +optional
	Failed int32 `json:"failed"`

	// Message says in words how far the job is.
	Message string `json:"message,omitempty"`

	// FailedNodes are the names of the nodes that failed, sorted.
	FailedNodes []string `json:"failedNodes,omitempty"`
}
