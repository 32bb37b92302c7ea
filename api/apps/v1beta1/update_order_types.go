package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UpdatePriorityStrategy decides which Pods are updated first; at most one of the two lists may be set.
type UpdatePriorityStrategy struct {
	// OrderPriority orders Pods by the labels they have: an earlier key of the list goes first, and within one key the
	// larger number at the end of the label's value.
	OrderPriority []UpdatePriorityOrderTerm `json:"orderPriority,omitempty"`

	// WeightPriority orders Pods by the sum of the weights of the terms that match them, larger first.
	WeightPriority []UpdatePriorityWeightTerm `json:"weightPriority,omitempty"`
}

// UpdatePriorityOrderTerm is one label key of an order.
type UpdatePriorityOrderTerm struct {
	// OrderedKey is the label key; numbers at the end of its value decide the order among Pods that have it.
	OrderedKey string `json:"orderedKey"`
}

// UpdatePriorityWeightTerm gives a weight to the Pods it selects.
type UpdatePriorityWeightTerm struct {
	// Weight is added to each selected Pod's sum; from 0 to 100.
	Weight int32 `json:"weight"`

	// MatchSelector selects Pods by their labels; it must not be empty.
	MatchSelector metav1.LabelSelector `json:"matchSelector"`
}

// UpdateScatterTerm spreads the Pods with one label value evenly over a rollout.
type UpdateScatterTerm struct {
	// Key is the label key.
	Key string `json:"key"`

	// Value is the label value; in a SidecarSet `*` stands for every value found.
	Value string `json:"value"`
}

// PodUpdateStrategyType is how a workload brings a Pod to a new revision.
type PodUpdateStrategyType string

// Ways to bring a Pod to a new revision.
const (
	// RecreatePodUpdateStrategyType deletes the Pod and makes a new one.
	RecreatePodUpdateStrategyType PodUpdateStrategyType = "ReCreate"
	// InPlaceIfPossiblePodUpdateStrategyType changes the Pod in place where the change allows it, else recreates it.
	InPlaceIfPossiblePodUpdateStrategyType PodUpdateStrategyType = "InPlaceIfPossible"
	// InPlaceOnlyPodUpdateStrategyType changes the Pod in place and never deletes it.
	InPlaceOnlyPodUpdateStrategyType PodUpdateStrategyType = "InPlaceOnly"
)

// InPlaceUpdateStrategy tunes in-place updates.
type InPlaceUpdateStrategy struct {
	// GracePeriodSeconds is the time in seconds between turning the Pod not ready and changing it; 0 by default.
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`

	// ImagePreDownloadParallelism is how many nodes download the new image at a time; 1 by default. Only CloneSet reads
	// it.
	ImagePreDownloadParallelism *intstr.IntOrString `json:"imagePreDownloadParallelism,omitempty"`

	// ImagePreDownloadTimeoutSeconds bounds the download on one node, in seconds; 300 by default. Only CloneSet reads it.
	ImagePreDownloadTimeoutSeconds *int32 `json:"imagePreDownloadTimeoutSeconds,omitempty"`

	// ImagePreDownloadMinUpdatedReadyPods is how many updated Pods must be ready before images are downloaded ahead; 0 by
	// default. Only CloneSet reads it.
	ImagePreDownloadMinUpdatedReadyPods *int32 `json:"imagePreDownloadMinUpdatedReadyPods,omitempty"`
}
