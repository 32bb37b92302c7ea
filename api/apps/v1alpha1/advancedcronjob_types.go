package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// AdvancedCronJob makes a Job or a BroadcastJob at the times of a schedule.
//
// +kubebuilder:object:root=true
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
	Status v1beta1.AdvancedCronJobStatus `json:"status,omitempty"`
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

	// ConcurrencyPolicy is Allow (the default), Forbid or Replace.
	// +kubebuilder:validation:Enum=Allow;Forbid;Replace
	ConcurrencyPolicy v1beta1.ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// Paused stops the creation of jobs; false by default.
	Paused *bool `json:"paused,omitempty"`

	// SuccessfulJobsHistoryLimit is how many successful jobs are kept; 3 by default.
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`

	// FailedJobsHistoryLimit is how many failed jobs are kept; 1 by default.
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`

	// Template is the job to make; exactly one of its fields is set.
	Template CronJobTemplate `json:"template"`
}

// CronJobTemplate is the job to make; exactly one field is set.
type CronJobTemplate struct {
	// JobTemplate makes a batch Job.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	JobTemplate *batchv1.JobTemplateSpec `json:"jobTemplate,omitempty"`

	// BroadcastJobTemplate makes a BroadcastJob.
	BroadcastJobTemplate *v1beta1.BroadcastJobTemplateSpec `json:"broadcastJobTemplate,omitempty"`
}
