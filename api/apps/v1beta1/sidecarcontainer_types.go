package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// The order of SidecarContainer's fields is part of the contract: the hash that tells whether a Pod is up to date is
// computed from their JSON in this order, with upgradeStrategy and shareVolumePolicy always present (sidecarset.md §3.1).
// The schema shows the extra fields only and keeps the rest, because newer clusters know more fields of a container than
// any schema of ours; the container itself is judged at admission.

// SidecarContainer is a container to inject: every field of a Pod's container, and the ones below.
//
// +kubebuilder:pruning:PreserveUnknownFields
type SidecarContainer struct {
	// +kubebuilder:validation:Schemaless
	corev1.Container `json:",inline"`

	// PodInjectPolicy is BeforeAppContainer or AfterAppContainer; the first by default for containers, the second for
	// init containers.
	PodInjectPolicy PodInjectPolicyType `json:"podInjectPolicy,omitempty"`

	// UpgradeStrategy decides how the container is upgraded.
	UpgradeStrategy SidecarContainerUpgradeStrategy `json:"upgradeStrategy,omitempty"`

	// ShareVolumePolicy decides whether the container also mounts what the Pod's own containers mount.
	ShareVolumePolicy ShareVolumePolicy `json:"shareVolumePolicy,omitempty"`

	// ShareVolumeDevicePolicy decides whether the container also gets the block devices of the Pod's own containers;
	// disabled by default.
	ShareVolumeDevicePolicy *ShareVolumePolicy `json:"shareVolumeDevicePolicy,omitempty"`

	// TransferEnv are environment variables to copy from the Pod's own containers.
	TransferEnv []TransferEnvVar `json:"transferEnv,omitempty"`

	// ResourcesPolicy computes the container's resources from those of the Pod's own containers.
	ResourcesPolicy *ResourcesPolicy `json:"resourcesPolicy,omitempty"`
}

// PodInjectPolicyType is where a sidecar stands among the Pod's own containers.
type PodInjectPolicyType string

// Where a sidecar stands among the Pod's own containers.
const (
	// BeforeAppContainerType is before them.
	BeforeAppContainerType PodInjectPolicyType = "BeforeAppContainer"
	// AfterAppContainerType is after them.
	AfterAppContainerType PodInjectPolicyType = "AfterAppContainer"
)

// SidecarContainerUpgradeType is how a sidecar is upgraded.
type SidecarContainerUpgradeType string

// How a sidecar is upgraded.
const (
	// SidecarContainerColdUpgrade replaces the image and restarts the container.
	SidecarContainerColdUpgrade SidecarContainerUpgradeType = "ColdUpgrade"
	// SidecarContainerHotUpgrade starts the new image in a second container, which takes over.
	SidecarContainerHotUpgrade SidecarContainerUpgradeType = "HotUpgrade"
)

// SidecarContainerUpgradeStrategy decides how a sidecar is upgraded.
type SidecarContainerUpgradeStrategy struct {
	// UpgradeType is ColdUpgrade (the default) or HotUpgrade; it cannot be changed.
	UpgradeType SidecarContainerUpgradeType `json:"upgradeType,omitempty"`

	// HotUpgradeEmptyImage is the image of the container that does not work at the moment; needed with HotUpgrade.
	HotUpgradeEmptyImage string `json:"hotUpgradeEmptyImage,omitempty"`
}

// ShareVolumePolicyType is whether a sidecar shares the volumes of the Pod's own containers.
type ShareVolumePolicyType string

// Whether a sidecar shares the volumes of the Pod's own containers.
const (
	// ShareVolumePolicyEnabled shares them.
	ShareVolumePolicyEnabled ShareVolumePolicyType = "enabled"
	// ShareVolumePolicyDisabled does not.
	ShareVolumePolicyDisabled ShareVolumePolicyType = "disabled"
)

// ShareVolumePolicy decides whether a sidecar shares the volumes of the Pod's own containers.
type ShareVolumePolicy struct {
	// Type is enabled or disabled (the default).
	Type ShareVolumePolicyType `json:"type,omitempty"`
}

// TransferEnvVar copies environment variables from one of the Pod's own containers.
type TransferEnvVar struct {
	// SourceContainerName is the container to copy from.
	SourceContainerName string `json:"sourceContainerName,omitempty"`

	// SourceContainerNameFrom takes the container's name from the Pod, and wins over sourceContainerName.
	SourceContainerNameFrom *SourceContainerNameSource `json:"sourceContainerNameFrom,omitempty"`

	// EnvName is one variable to copy.
	EnvName string `json:"envName,omitempty"`

	// EnvNames are more variables to copy.
	EnvNames []string `json:"envNames,omitempty"`
}

// SourceContainerNameSource is where a container's name is taken from.
type SourceContainerNameSource struct {
	// FieldRef is metadata.labels['key'] or metadata.annotations['key'] of the Pod.
	FieldRef *corev1.ObjectFieldSelector `json:"fieldRef,omitempty"`
}

// TargetContainersModeType is how the resources of several containers become one number.
type TargetContainersModeType string

// How the resources of several containers become one number.
const (
	// TargetContainersModeSum adds them.
	TargetContainersModeSum TargetContainersModeType = "sum"
	// TargetContainersModeMax takes the largest.
	TargetContainersModeMax TargetContainersModeType = "max"
)

// ResourcesPolicy computes a sidecar's resources from those of the Pod's own containers; it excludes resources.
type ResourcesPolicy struct {
	// TargetContainersMode is sum or max.
	// +kubebuilder:validation:Enum=sum;max
	TargetContainersMode TargetContainersModeType `json:"targetContainersMode"`

	// TargetContainersNameRegex matches the names of the containers to look at; `.*` by default.
	// +kubebuilder:default=".*"
	TargetContainersNameRegex string `json:"targetContainersNameRegex,omitempty"`

	// ResourcesExpr holds the expressions; at least one of its fields is set.
	ResourcesExpr ResourcesExpr `json:"resourcesExpr"`
}

// ResourcesExpr holds expressions for limits and requests.
type ResourcesExpr struct {
	// Limits are the expressions for limits; without one the container gets no such limit.
	Limits *ResourceExprLimits `json:"limits,omitempty"`

	// Requests are the expressions for requests; without one the container gets no such request.
	Requests *ResourceExprRequests `json:"requests,omitempty"`
}

// ResourceExprLimits are expressions over the variables cpu and memory, the limits of the containers looked at.
type ResourceExprLimits struct {
	// CPU is the expression for the CPU limit, for example max(cpu*50%, 50m).
	CPU string `json:"cpu,omitempty"`

	// Memory is the expression for the memory limit.
	Memory string `json:"memory,omitempty"`
}

// ResourceExprRequests are expressions over the variables cpu and memory, the requests of the containers looked at.
type ResourceExprRequests struct {
	// CPU is the expression for the CPU request.
	CPU string `json:"cpu,omitempty"`

	// Memory is the expression for the memory request.
	Memory string `json:"memory,omitempty"`
}
