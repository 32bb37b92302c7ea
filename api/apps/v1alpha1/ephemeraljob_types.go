package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EphemeralJob injects ephemeral containers into running Pods, to look into them.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=ejob
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.phase",description="How far the job is"
// +kubebuilder:printcolumn:name="MATCH",type="integer",JSONPath=".status.match",description="Pods selected"
// +kubebuilder:printcolumn:name="SUCCEED",type="integer",JSONPath=".status.succeeded",description="Pods whose containers succeeded"
// +kubebuilder:printcolumn:name="FAILED",type="integer",JSONPath=".status.failed",description="Pods with a container that failed"
// +kubebuilder:printcolumn:name="RUNNING",type="integer",JSONPath=".status.running",description="Pods with a container that runs"
// +kubebuilder:printcolumn:name="WAITING",type="integer",JSONPath=".status.waiting",description="Pods with a container that waits"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type EphemeralJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec EphemeralJobSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status EphemeralJobStatus `json:"status,omitempty"`
}

// EphemeralJobList is a list of EphemeralJobs.
//
// +kubebuilder:object:root=true
type EphemeralJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the EphemeralJobs.
	Items []EphemeralJob `json:"items"`
}

// EphemeralJobSpec is what a user wants of an EphemeralJob.
type EphemeralJobSpec struct {
	// Selector selects the Pods by label.
	Selector *metav1.LabelSelector `json:"selector"`

	// Replicas is how many of the Pods get the containers, oldest first; all by default.
	Replicas *int32 `json:"replicas,omitempty"`

	// Parallelism is how many Pods run the containers at a time; 1 by default.
	Parallelism *int32 `json:"parallelism,omitempty"`

	// Template holds the containers.
	Template EphemeralContainerTemplateSpec `json:"template"`

	// Paused stops the injection; false by default.
	Paused bool `json:"paused,omitempty"`

	// ActiveDeadlineSeconds is how long in seconds the job may take from its start; no deadline by default.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// TTLSecondsAfterFinished is how long in seconds a finished job is kept; 1800 by default, 0 deletes it at once.
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// EphemeralContainerTemplateSpec holds the containers to inject.
type EphemeralContainerTemplateSpec struct {
	// EphemeralContainers are the containers to inject.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	EphemeralContainers []corev1.EphemeralContainer `json:"ephemeralContainers"`
}

// EphemeralJobPhase is the state of an EphemeralJob in one word.
type EphemeralJobPhase string

// States of an EphemeralJob.
const (
	// EphemeralJobWaiting means that no container runs yet.
	EphemeralJobWaiting EphemeralJobPhase = "Waiting"
	// EphemeralJobRunning means that containers run.
	EphemeralJobRunning EphemeralJobPhase = "Running"
	// EphemeralJobSucceeded means that all containers succeeded.
	EphemeralJobSucceeded EphemeralJobPhase = "Succeeded"
	// EphemeralJobFailed means that containers failed or the deadline passed.
	EphemeralJobFailed EphemeralJobPhase = "Failed"
	// EphemeralJobPaused means that no containers are injected.
	EphemeralJobPaused EphemeralJobPhase = "Paused"
	// EphemeralJobError means that the template is unusable.
	EphemeralJobError EphemeralJobPhase = "Error"
	// EphemeralJobUnknown means none of the others.
	EphemeralJobUnknown EphemeralJobPhase = "Unknown"
)

// EphemeralJobConditionType is the type of an EphemeralJob condition.
type EphemeralJobConditionType string

// Conditions of an EphemeralJob; each is True or absent.
const (
	// EJobInitialized means that the controller took the job up.
	EJobInitialized EphemeralJobConditionType = "Initialized"
	// EJobMatchedEmpty means that no Pod is selected.
	EJobMatchedEmpty EphemeralJobConditionType = "MatchedEmpty"
	// EJobSucceeded means that all containers succeeded.
	EJobSucceeded EphemeralJobConditionType = "JobSucceeded"
	// EJobFailed means that some container failed.
	EJobFailed EphemeralJobConditionType = "JobFailed"
	// EJobError means that the template is unusable.
	EJobError EphemeralJobConditionType = "JobError"
)

// EphemeralJobStatus is what the controller last saw.
type EphemeralJobStatus struct {
	// Conditions are the latest observations of the job's state.
	Conditions []EphemeralJobCondition `json:"conditions,omitempty"`

	// StartTime is when the controller took the job up.
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when the job ended, well or not.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Phase is Waiting, Running, Succeeded, Failed, Paused, Error or Unknown.
	Phase EphemeralJobPhase `json:"phase,omitempty"`

	// Matches is the number of Pods selected.
	// +optional
	Matches int32 `json:"match"`

	// Running is the number of Pods with a container that runs.
	// +optional
	Running int32 `json:"running"`

	// Succeeded is the number of Pods whose containers succeeded.
	// +optional
	Succeeded int32 `json:"succeeded"`

	// Waiting is the number of Pods with a container that waits.
	// +optional
	Waiting int32 `json:"waiting"`

	// Failed is the number of Pods with a container that failed.
	// +optional
	Failed int32 `json:"failed"`
}

// EphemeralJobCondition is one observation of an EphemeralJob's state.
type EphemeralJobCondition struct {
	// Type names what is observed.
	Type EphemeralJobConditionType `json:"type"`

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
