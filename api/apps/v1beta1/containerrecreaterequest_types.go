package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContainerRecreateRequest restarts containers of a running Pod and leaves the Pod itself alone.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	Containers []ContainerRecreateRequestContainer `json:"containers"`

	// Strategy decides how they are restarted.
	Strategy *ContainerRecreateRequestStrategy `json:"strategy,omitempty"`

	// ActiveDeadlineSeconds is how long in seconds the request may take from its creation, at least 3; no deadline by
	// default.
	// +kubebuilder:validation:Minimum=0
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// TTLSecondsAfterFinished is how long in seconds a completed request is kept: 0 deletes it at once, unset keeps it.
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// ContainerRecreateRequestContainer is one container to restart.
type ContainerRecreateRequestContainer struct {
	// Name of the container; init containers cannot be restarted.
	Name string `json:"name"`

	// PreStop is the container's own preStop hook, filled in at admission.
	PreStop *corev1.LifecycleHandler `json:"preStop,omitempty"`

	// Ports are the container's ports, filled in at admission when an HTTP hook needs them.
	Ports []corev1.ContainerPort `json:"ports,omitempty"`

	// StatusContext says which instance is to be stopped, filled in at admission.
	StatusContext *ContainerRecreateRequestContainerContext `json:"statusContext,omitempty"`
}

// ContainerRecreateRequestContainerContext says which instance of a container is to be stopped.
type ContainerRecreateRequestContainerContext struct {
	// ContainerID is the runtime's id of the instance.
	ContainerID string `json:"containerID"`

	// RestartCount is the number of restarts before this instance.
	RestartCount int32 `json:"restartCount"`
}

// ContainerRecreateRequestFailurePolicyType is what a container that cannot be stopped means to the request.
type ContainerRecreateRequestFailurePolicyType string

// What a container that cannot be stopped means to the request.
const (
	// ContainerRecreateRequestFailurePolicyFail ends the request.
	ContainerRecreateRequestFailurePolicyFail ContainerRecreateRequestFailurePolicyType = "Fail"
	// ContainerRecreateRequestFailurePolicyIgnore goes on with the next container.
	ContainerRecreateRequestFailurePolicyIgnore ContainerRecreateRequestFailurePolicyType = "Ignore"
)

// ContainerRecreateRequestStrategy decides how containers are restarted.
type ContainerRecreateRequestStrategy struct {
	// FailurePolicy is Fail (the default) or Ignore.
	// +kubebuilder:validation:Enum=Fail;Ignore
	FailurePolicy ContainerRecreateRequestFailurePolicyType `json:"failurePolicy,omitempty"`

	// OrderedRecreate stops a container only when the one before it is ready again; false by default.
	OrderedRecreate bool `json:"orderedRecreate,omitempty"`

	// ForceRecreate stops a container even if it was restarted since the request was made; false by default.
	ForceRecreate bool `json:"forceRecreate,omitempty"`

	// TerminationGracePeriodSeconds is how long in seconds a container may take to stop, its preStop hook included; the
	// Pod's own value by default.
	// +kubebuilder:validation:Minimum=0
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// UnreadyGracePeriodSeconds is how long in seconds the Pod is kept not ready before its containers are stopped; unset
	// leaves the Pod ready.
	// +kubebuilder:validation:Minimum=0
	UnreadyGracePeriodSeconds *int64 `json:"unreadyGracePeriodSeconds,omitempty"`

	// MinStartedSeconds is how long in seconds a new container must have run to count as restarted; 0 by default.
	// +kubebuilder:validation:Minimum=0
	MinStartedSeconds int32 `json:"minStartedSeconds,omitempty"`
}

// ContainerRecreateRequestPhase is how far a request or one of its containers is.
// +kubebuilder:validation:Enum=Pending;Recreating;Succeeded;Failed;Completed
type ContainerRecreateRequestPhase string

// How far a request or one of its containers is.
const (
	// ContainerRecreateRequestPending means that nothing was stopped yet.
	ContainerRecreateRequestPending ContainerRecreateRequestPhase = "Pending"
	// ContainerRecreateRequestRecreating means that containers are being restarted.
	ContainerRecreateRequestRecreating ContainerRecreateRequestPhase = "Recreating"
	// ContainerRecreateRequestSucceeded is a container that runs again and is ready.
	ContainerRecreateRequestSucceeded ContainerRecreateRequestPhase = "Succeeded"
	// ContainerRecreateRequestFailed is a container that could not be stopped.
	ContainerRecreateRequestFailed ContainerRecreateRequestPhase = "Failed"
	// ContainerRecreateRequestCompleted is a request that has ended, well or not.
	ContainerRecreateRequestCompleted ContainerRecreateRequestPhase = "Completed"
)

// ContainerRecreateRequestConditionPreRecreateGrace is True from the moment the Pod was turned not ready.
const ContainerRecreateRequestConditionPreRecreateGrace = "PreRecreateGrace"

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

	// ContainerStatusSnapshot is the Pod's view of the new containers.
	ContainerStatusSnapshot []ContainerRecreateRequestContainerStatus `json:"containerStatusSnapshot,omitempty"`

	// Conditions are the latest observations of the request's state.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
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

// ContainerRecreateRequestContainerStatus is the Pod's view of one new container.
type ContainerRecreateRequestContainerStatus struct {
	// Name of the container.
	Name string `json:"name"`

	// Ready is whether kubelet reports it ready.
	Ready bool `json:"ready"`

	// RestartCount is the number of restarts.
	RestartCount int32 `json:"restartCount"`

	// ContainerID is the runtime's id of the container.
	ContainerID string `json:"containerID,omitempty"`
}
