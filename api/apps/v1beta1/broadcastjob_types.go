package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BroadcastJob runs a Pod to completion on every node that fits.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=bcj
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.desired",description="Nodes that shall run a Pod"
// +kubebuilder:printcolumn:name="Active",type="integer",JSONPath=".status.active",description="Pods that run"
// +kubebuilder:printcolumn:name="Succeeded",type="integer",JSONPath=".status.succeeded",description="Pods that succeeded"
// +kubebuilder:printcolumn:name="Failed",type="integer",JSONPath=".status.failed",description="Pods that failed"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type BroadcastJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec BroadcastJobSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status BroadcastJobStatus `json:"status,omitempty"`
}

// BroadcastJobList is a list of BroadcastJobs.
//
// +kubebuilder:object:root=true
type BroadcastJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the BroadcastJobs.
	Items []BroadcastJob `json:"items"`
}

// BroadcastJobSpec is what a user wants of a BroadcastJob.
type BroadcastJobSpec struct {
	// Parallelism is how many Pods, or which percentage of the nodes rounded up, run at a time; without limit by default.
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty"`

	// Template is the Pod to run on each node; its restartPolicy must be OnFailure or Never.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`

	// CompletionPolicy decides when the job is over.
	CompletionPolicy CompletionPolicy `json:"completionPolicy,omitempty"`

	// Paused stops the creation of Pods; false by default.
	Paused bool `json:"paused,omitempty"`

	// FailurePolicy decides what a failed Pod means to the job.
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`
}

// CompletionPolicyType is whether a job ends by itself.
type CompletionPolicyType string

// Whether a job ends by itself.
const (
	// Always ends the job once every node is done.
	Always CompletionPolicyType = "Always"
	// Never keeps the job alive for nodes that come later.
	Never CompletionPolicyType = "Never"
)

// CompletionPolicy decides when a job is over.
type CompletionPolicy struct {
	// Type is Always (the default) or Never.
	Type CompletionPolicyType `json:"type,omitempty"`

	// ActiveDeadlineSeconds is how long in seconds the job may take from its start; no deadline by default, and only with
	// type Always.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// TTLSecondsAfterFinished is how long in seconds a finished job is kept: 0 deletes it at once, unset keeps it. Only
	// with type Always.
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// FailurePolicyType is what a failed Pod means to a BroadcastJob.
type FailurePolicyType string

// What a failed Pod means to a BroadcastJob.
const (
	// FailurePolicyTypeFailFast fails the job.
	FailurePolicyTypeFailFast FailurePolicyType = "FailFast"
	// FailurePolicyTypeContinue goes on with the other nodes.
	FailurePolicyTypeContinue FailurePolicyType = "Continue"
	// FailurePolicyTypePause pauses the job.
	FailurePolicyTypePause FailurePolicyType = "Pause"
)

// FailurePolicy decides what a failed Pod means to a BroadcastJob.
type FailurePolicy struct {
	// Type is FailFast (the default), Continue or Pause.
	Type FailurePolicyType `json:"type,omitempty"`

	// RestartLimit is how often the containers of a Pod with restartPolicy OnFailure may restart before the Pod counts as
	// failed; 0 by default.
	RestartLimit int32 `json:"restartLimit,omitempty"`
}

// BroadcastJobPhase is the state of a BroadcastJob in one word.
type BroadcastJobPhase string

// States of a BroadcastJob.
const (
	// PhaseRunning means that Pods run or are still to come.
	PhaseRunning BroadcastJobPhase = "running"
	// PhasePaused means that no Pods are created.
	PhasePaused BroadcastJobPhase = "paused"
	// PhaseCompleted means that every node is done.
	PhaseCompleted BroadcastJobPhase = "completed"
	// PhaseFailed means that the job was given up.
	PhaseFailed BroadcastJobPhase = "failed"
)

// JobConditionType is the type of a job condition.
type JobConditionType string

// Conditions of a job.
const (
	// JobComplete means that the job ended well.
	JobComplete JobConditionType = "Complete"
	// JobFailed means that the job was given up.
	JobFailed JobConditionType = "Failed"
)

// BroadcastJobStatus is what the controller last saw.
type BroadcastJobStatus struct {
	// Conditions are the latest observations of the job's state.
	Conditions []JobCondition `json:"conditions,omitempty"`

	// StartTime is when the controller took the job up.
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when the job ended, well or not.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Active is the number of Pods that run.
	// +optional
	Active int32 `json:"active"`

	// Succeeded is the number of Pods that succeeded.
	// +optional
	Succeeded int32 `json:"succeeded"`

	// Failed is the number of Pods that failed.
	// +optional
	Failed int32 `json:"failed"`

	// Desired is the number of nodes that shall run a Pod.
	// +optional
	Desired int32 `json:"desired"`

	// Phase is running, paused, completed or failed.
	// +optional
	Phase BroadcastJobPhase `json:"phase"`
}

// JobCondition is one observation of a job's state.
type JobCondition struct {
	// Type names what is observed.
	Type JobConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// LastProbeTime is when the observation was last made.
	LastProbeTime metav1.Time `json:"lastProbeTime,omitzero"`

	// LastTransitionTime is when the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Reason is one word for programs.
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
}
