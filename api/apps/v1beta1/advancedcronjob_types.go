package v1beta1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AdvancedCronJob makes a Job, a BroadcastJob or an ImageListPullJob at the times of a schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=acj
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Schedule",type="string",JSONPath=".spec.schedule",description="Schedule in cron format"
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".status.type",description="Kind of the jobs"
// +kubebuilder:printcolumn:name="LastScheduleTime",type="date",JSONPath=".status.lastScheduleTime",description="Time since the last job"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type AdvancedCronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec AdvancedCronJobSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status AdvancedCronJobStatus `json:"status,omitempty"`
}

// AdvancedCronJobList is a list of AdvancedCronJobs.
//
// +kubebuilder:object:root=true
type AdvancedCronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the AdvancedCronJobs.
	Items []AdvancedCronJob `json:"items"`
}

// AdvancedCronJobSpec is what a user wants of an AdvancedCronJob.
type AdvancedCronJobSpec struct {
	// Schedule is five cron fields or a descriptor such as @hourly or @every 1h, optionally after TZ=zone.
	// +kubebuilder:validation:MinLength=0
	Schedule string `json:"schedule"`

	// TimeZone is the IANA name of the zone of the schedule; the controller's own zone by default.
	TimeZone *string `json:"timeZone,omitempty"`

	// StartingDeadlineSeconds is how late in seconds a job may still start; no limit by default.
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// ConcurrencyPolicy is Allow, Forbid or Replace; Allow by default, Replace with imageListPullJobTemplate.
	// +kubebuilder:validation:Enum=Allow;Forbid;Replace
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// Paused stops the creation of jobs; false by default.
	Paused *bool `json:"paused,omitempty"`

	// SuccessfulJobsHistoryLimit is how many successful jobs are kept; 3 by default.
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`

	// FailedJobsHistoryLimit is how many failed jobs are kept; 1 by default.
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`

	// Template is the job to make; exactly one of its fields is set.
	Template CronJobTemplate `json:"template"`
}

// ConcurrencyPolicy is what happens when a job is due while an earlier one still runs.
type ConcurrencyPolicy string

// What happens when a job is due while an earlier one still runs.
const (
	// AllowConcurrent starts it beside the earlier one.
	AllowConcurrent ConcurrencyPolicy = "Allow"
	// ForbidConcurrent waits for the earlier one.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// ReplaceConcurrent deletes the earlier one first.
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// CronJobTemplate is the job to make; exactly one field is set.
type CronJobTemplate struct {
	// JobTemplate makes a batch Job.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	JobTemplate *batchv1.JobTemplateSpec `json:"jobTemplate,omitempty"`

	// BroadcastJobTemplate makes a BroadcastJob.
	BroadcastJobTemplate *BroadcastJobTemplateSpec `json:"broadcastJobTemplate,omitempty"`

	// ImageListPullJobTemplate makes an ImageListPullJob.
	ImageListPullJobTemplate *ImageListPullJobTemplateSpec `json:"imageListPullJobTemplate,omitempty"`
}

// BroadcastJobTemplateSpec is a BroadcastJob to make.
type BroadcastJobTemplateSpec struct {
	// Metadata holds the labels and annotations of the job.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the spec of the job.
	Spec BroadcastJobSpec `json:"spec,omitempty"`
}

// ImageListPullJobTemplateSpec is an ImageListPullJob to make.
type ImageListPullJobTemplateSpec struct {
	// Metadata holds the labels and annotations of the job.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the spec of the job.
	Spec ImageListPullJobSpec `json:"spec,omitempty"`
}

// TemplateKind is the kind of the jobs an AdvancedCronJob makes.
type TemplateKind string

// Kinds of jobs an AdvancedCronJob makes.
const (
	// JobTemplate is a batch Job.
	JobTemplate TemplateKind = "Job"
	// BroadcastJobTemplate is a BroadcastJob.
	BroadcastJobTemplate TemplateKind = "BroadcastJob"
	// ImageListPullJobTemplate is an ImageListPullJob.
	ImageListPullJobTemplate TemplateKind = "ImageListPullJob"
)

// AdvancedCronJobStatus is what the controller last saw.
type AdvancedCronJobStatus struct {
	// Type is the kind of the jobs.
	Type TemplateKind `json:"type,omitempty"`

	// Active refers to the jobs that run.
	Active []corev1.ObjectReference `json:"active,omitempty"`

	// LastScheduleTime is the scheduled time of the newest job.
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
}
