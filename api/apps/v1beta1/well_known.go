package v1beta1

// Annotations, labels and environment variables of SidecarSet injection (sidecarset.md §1.4, §3.1, §4).
const (
	SidecarSetHashAnnotation             = "kruise.io/sidecarset-hash"
	SidecarSetHashWithoutImageAnnotation = "kruise.io/sidecarset-hash-without-image"
	SidecarSetInjectedListAnnotation     = "kruise.io/sidecarset-injected-list"
	SidecarSetWorkingHotUpgradeContainer = "kruise.io/sidecarset-working-hotupgrade-container"
	SidecarSetInPlaceUpdateState         = "kruise.io/sidecarset-inplace-update-state"
	SidecarSetCustomVersionLabel         = "apps.kruise.io/sidecarset-custom-version"
	SidecarSetCanaryAnnotation           = "apps.kruise.io/sidecarset-canary"
	SidecarSetBaseAnnotation             = "apps.kruise.io/sidecarset-base"
	SidecarSetVersionAnnotationPrefix    = "version.sidecarset.kruise.io/"
	SidecarSetVersionAltAnnotationPrefix = "versionalt.sidecarset.kruise.io/"
	SidecarInjectedEnv                   = "IS_INJECTED"
	SidecarVersionEnv                    = "SIDECARSET_VERSION"
	SidecarVersionAltEnv                 = "SIDECARSET_VERSION_ALT"
)

// Container launch priority (pod-admission.md §2.4, more-controllers.md §1).
const (
	ContainerLaunchPriorityAnnotation          = "apps.kruise.io/container-launch-priority"
	ContainerLaunchPriorityOrdered             = "Ordered"
	ContainerLaunchPriorityCompletedAnnotation = "apps.kruise.io/container-launch-priority-completed"
	ContainerLaunchPriorityEnv                 = "KRUISE_CONTAINER_PRIORITY"
	ContainerLaunchBarrierEnv                  = "KRUISE_CONTAINER_BARRIER"

	// The barrier is a ConfigMap called after the Pod, with a key per priority, such as p_-2.
	ContainerLaunchBarrierSuffix    = "-barrier"
	ContainerLaunchBarrierKeyPrefix = "p_"
)

// KruisePodReady is the readiness gate that keeps a Pod unready while we work on it (pod-admission.md §2.1).
const KruisePodReady = "KruisePodReady"
