package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// ContainerRecreateRequest restarts containers of a running Pod and leaves the Pod itself alone.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=crr
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="PHASE",type="string",JSONPath=".status.phase",description="How far the request is"
// +kubebuilder:printcolumn:name="POD",type="string",JSONPath=".spec.podName",description="Name of the Pod"
// +kubebuilder:printcolumn:name="NODE",type="string",JSONPath=`.metadata.labels.crr\.apps\.kruise\.io/node-name`,description="Node of the Pod"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type ContainerRecreateRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants; it cannot be changed.
	Spec ContainerRecreateRequestSpec `json:"spec,omitempty"`

	// Status is how far the request is.
	Status ContainerRecreateRequestStatus `json:"status,omitempty"`
}

// ContainerRecreateRequestList is a list of ContainerRecreateRequests.
//
// +kubebuilder:object:root=true
type ContainerRecreateRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ContainerRecreateRequests.
	Items []ContainerRecreateRequest `json:"items"`
}

// ContainerRecreateRequestSpec is what a user wants of a ContainerRecreateRequest.
type ContainerRecreateRequestSpec struct {
	// PodName is the name of the Pod, in the request's namespace.
	PodName string `json:"podName"`

	// Containers are the containers to restart, in the order in which they are stopped.
	Containers []v1beta1.ContainerRecreateRequestContainer `json:"containers"`

	// Strategy decides how they are restarted.
	Strategy *ContainerRecreateRequestStrategy `json:"strategy,omitempty"`

	// ActiveDeadlineSeconds is how long in seconds the request may take from its creation, at least 3; no deadline by
	// default.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// TTLSecondsAfterFinished is how long in seconds a completed request is kept: 0 deletes it at once, unset keeps it.
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// ContainerRecreateRequestStrategy decides how containers are restarted.
type ContainerRecreateRequestStrategy struct {
	// FailurePolicy is Fail (the default) or Ignore.
	FailurePolicy v1beta1.ContainerRecreateRequestFailurePolicyType `json:"failurePolicy,omitempty"`

	// OrderedRecreate stops a container only when the one before it is ready again; false by default.
	OrderedRecreate bool `json:"orderedRecreate,omitempty"`

	// ForceRecreate stops a container even if it was restarted since the request was made; false by default.
	ForceRecreate bool `json:"forceRecreate,omitempty"`

	// TerminationGracePeriodSeconds is how long in seconds a container may take to stop, its preStop hook included; the
	// Pod's own value by default.
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// UnreadyGracePeriodSeconds is how long in seconds the Pod is kept not ready before its containers are stopped; unset
	// leaves the Pod ready.
	UnreadyGracePeriodSeconds *int64 `json:"unreadyGracePeriodSeconds,omitempty"`

	// MinStartedSeconds is how long in seconds a new container must have run to count as restarted; 0 by default.
	MinStartedSeconds int32 `json:"minStartedSeconds,omitempty"`
}

// ContainerRecreateRequestPhase is how far a request or one of its containers is; the values are those of v1beta1, but
// this version's schema does not insist on them.
type ContainerRecreateRequestPhase string

// ContainerRecreateRequestStatus is how far a request is.
type ContainerRecreateRequestStatus struct {
	// Phase is empty at first, then Pending, Recreating and Completed; Completed does not mean that it went well.
	Phase ContainerRecreateRequestPhase `json:"phase"`

	// CompletionTime is when the request ended.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Message says why the request ended otherwise than by restarting its containers.
	Message string `json:"message,omitempty"`

	// ContainerRecreateStates say per container how far it is; only Succeeded means that it was restarted.
	ContainerRecreateStates []ContainerRecreateRequestContainerRecreateState `json:"containerRecreateStates,omitempty"`
}

// ContainerRecreateRequestContainerRecreateState is how far one container is.
type ContainerRecreateRequestContainerRecreateState struct {
	// Name of the container.
	Name string `json:"name"`

	// Phase is Pending, Recreating, Succeeded or Failed.
	Phase ContainerRecreateRequestPhase `json:"phase"`

	// Message says why the container is in this phase.
	Message string `json:"message,omitempty"`

	// IsKilled is true once the old instance has been stopped.
	IsKilled bool `json:"isKilled,omitempty"`
}
