package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SidecarSet injects containers into the Pods it selects and upgrades them independently of the Pods' workloads.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="MATCHED",type="integer",JSONPath=".status.matchedPods",description="Pods that carry the sidecars"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedPods",description="Pods whose sidecars are up to date"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyPods",description="Pods that are ready"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type SidecarSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec SidecarSetSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status SidecarSetStatus `json:"status,omitempty"`
}

// SidecarSetList is a list of SidecarSets.
//
// +kubebuilder:object:root=true
type SidecarSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the SidecarSets.
	Items []SidecarSet `json:"items"`
}

// SidecarSetSpec is what a user wants of a SidecarSet.
type SidecarSetSpec struct {
	// Selector selects the Pods by label; it must not be empty.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// NamespaceSelector selects the Pods' namespaces by label; all by default.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// InitContainers are injected when a Pod is created and never changed.
	InitContainers []SidecarContainer `json:"initContainers,omitempty"`

	// Containers are injected when a Pod is created; their images can be upgraded in place.
	Containers []SidecarContainer `json:"containers,omitempty"`

	// Volumes are volumes for the sidecars; only those that a sidecar mounts are injected.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// UpdateStrategy decides how sidecars of existing Pods are upgraded.
	UpdateStrategy SidecarSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// InjectionStrategy decides what new Pods get.
	InjectionStrategy SidecarSetInjectionStrategy `json:"injectionStrategy,omitempty"`

	// ImagePullSecrets are added to the Pods.
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// RevisionHistoryLimit is how many revisions are kept; 10 by default, at least 1.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// PatchPodMetadata are annotations to put on the Pods.
	PatchPodMetadata []SidecarSetPatchPodMetadata `json:"patchPodMetadata,omitempty"`

	// CustomVersion is the user's own name for this version.
	CustomVersion string `json:"customVersion,omitempty"`
}

// SidecarSetUpdateStrategyType is whether existing Pods are upgraded.
type SidecarSetUpdateStrategyType string

// Whether existing Pods are upgraded.
const (
	// NotUpdateSidecarSetStrategyType only injects into new Pods.
	NotUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "NotUpdate"
	// RollingUpdateSidecarSetStrategyType also upgrades existing Pods.
	RollingUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "RollingUpdate"
)

// SidecarSetUpdateStrategy decides how sidecars of existing Pods are upgraded.
type SidecarSetUpdateStrategy struct {
	// Type is RollingUpdate (the default) or NotUpdate.
	Type SidecarSetUpdateStrategyType `json:"type,omitempty"`

	// Paused stops the upgrade; false by default.
	Paused bool `json:"paused,omitempty"`

	// Selector restricts the upgrade to Pods that it also selects; all by default.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Partition is how many Pods, or which percentage rounded up, stay on the old version; 0 by default.
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// MaxUnavailable is how many updated Pods, or which percentage of the matched ones rounded up, may be not ready; 1 by
	// default.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// PriorityStrategy decides which Pods are upgraded first.
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`

	// ScatterStrategy spreads Pods with the same label value over the rollout.
	ScatterStrategy []UpdateScatterTerm `json:"scatterStrategy,omitempty"`
}

// SidecarSetInjectionStrategy decides what new Pods get.
type SidecarSetInjectionStrategy struct {
	// Paused stops the injection into new Pods; false by default.
	Paused bool `json:"paused,omitempty"`

	// Revision is the version that new Pods get; the current one by default.
	Revision *SidecarSetInjectRevision `json:"revision,omitempty"`
}

// SidecarSetInjectRevisionPolicy is which new Pods get a named revision.
type SidecarSetInjectRevisionPolicy string

// Which new Pods get a named revision.
const (
	// AlwaysSidecarSetInjectRevisionPolicy means all of them.
	AlwaysSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Always"
	// PartialSidecarSetInjectRevisionPolicy means those that updateStrategy would not upgrade.
	PartialSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Partial"
)

// SidecarSetInjectRevision names the version that new Pods get; at least one of the names is set.
type SidecarSetInjectRevision struct {
	// CustomVersion names a version by its custom version.
	CustomVersion *string `json:"customVersion,omitempty"`

	// RevisionName names a version by its ControllerRevision, and wins over customVersion.
	RevisionName *string `json:"revisionName,omitempty"`

	// Policy is Always (the default) or Partial.
	// +kubebuilder:validation:Enum=Always;Partial
	// +kubebuilder:default=Always
	Policy SidecarSetInjectRevisionPolicy `json:"policy,omitempty"`
}

// SidecarSetPatchPolicyType is what happens to an annotation that a Pod already has.
type SidecarSetPatchPolicyType string

// What happens to an annotation that a Pod already has.
const (
	// SidecarSetRetainPatchPolicy keeps the Pod's value.
	SidecarSetRetainPatchPolicy SidecarSetPatchPolicyType = "Retain"
	// SidecarSetOverwritePatchPolicy replaces the Pod's value.
	SidecarSetOverwritePatchPolicy SidecarSetPatchPolicyType = "Overwrite"
	// SidecarSetMergePatchJSONPatchPolicy merges the two values as JSON.
	SidecarSetMergePatchJSONPatchPolicy SidecarSetPatchPolicyType = "MergePatchJson"
)

// SidecarSetPatchPodMetadata are annotations to put on Pods.
type SidecarSetPatchPodMetadata struct {
	// Annotations by key.
	Annotations map[string]string `json:"annotations,omitempty"`

	// PatchPolicy is Retain (the default), Overwrite or MergePatchJson.
	PatchPolicy SidecarSetPatchPolicyType `json:"patchPolicy,omitempty"`
}

// SidecarSetStatus is what the controller last saw.
type SidecarSetStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// MatchedPods is the number of Pods that carry the sidecars.
	MatchedPods int32 `json:"matchedPods"`

	// UpdatedPods is the number of those whose sidecars are up to date.
	UpdatedPods int32 `json:"updatedPods"`

	// ReadyPods is the number of matched Pods that are ready.
	ReadyPods int32 `json:"readyPods"`

	// UpdatedReadyPods is the number of updated Pods that are ready.
	UpdatedReadyPods int32 `json:"updatedReadyPods,omitempty"`

	// LatestRevision names the newest ControllerRevision.
	LatestRevision string `json:"latestRevision,omitempty"`

	// CollisionCount counts clashes of revision names.
	CollisionCount *int32 `json:"collisionCount,omitempty"`
}
