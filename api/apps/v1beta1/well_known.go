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

// User agents and keys by which features share the message of KruisePodReady, which is a JSON list (pod-admission.md
// §2.1, cloneset.md §6.3).
const (
	KruisePodReadyLifecycleAgent         = "Lifecycle"
	KruisePodReadyPreDeleteKey           = "preDeleteHook"
	KruisePodReadyPreUpdateKey           = "preUpdateHook"
	KruisePodReadyContainerRecreateAgent = "ContainerRecreateRequest"
)

// SidecarSet revisions, and conditions of its Pods (sidecarset.md §3.2, §6.3).
const (
	SidecarSetNameLabel                  = "kruise.io/sidecarset-name"
	SidecarSetUpgradableCondition        = "SidecarSetUpgradable"
	SidecarSetAllUpgradableReason        = "AllSidecarsetUpgradable"
	SidecarSetUpdateImmutableFieldReason = "UpdateImmutableField"
)

// Sidecar terminator: environment of sidecars, condition of their Pods, prefix of its requests' names (sidecarset.md §9).
const (
	TerminateSidecarEnv               = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT"
	TerminateSidecarWithImageEnv      = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE"
	TerminateSidecarIgnoreExitCodeEnv = "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE"
	SidecarTerminatedCondition        = "SidecarTerminated"
	SidecarTerminationRequestPrefix   = "sidecar-termination-"
)

// Pods of workloads: requests and state (cloneset.md §1.9, §5, §6). The presence of SpecifiedDeleteLabel counts, not its
// value. The legacy keys are read and removed, never written.
const (
	SpecifiedDeleteLabel            = "apps.kruise.io/specified-delete"
	LifecycleStateLabel             = "lifecycle.apps.kruise.io/state"
	LifecycleTimestampAnnotation    = "lifecycle.apps.kruise.io/timestamp"
	InPlaceUpdateReady              = "InPlaceUpdateReady"
	InPlaceUpdateStartedReason      = "StartInPlaceUpdate"
	InPlaceUpdateStateAnnotation    = "apps.kruise.io/inplace-update-state"
	InPlaceUpdateStateLegacy        = "inplace-update-state"
	InPlaceUpdateGraceAnnotation    = "apps.kruise.io/inplace-update-grace"
	InPlaceUpdateGraceLegacy        = "inplace-update-grace"
	RuntimeContainerMetaAnnotation  = "apps.kruise.io/runtime-containers-meta"
	EnhancedLivenessAnnotation      = "apps.kruise.io/using-enhanced-liveness"
	ContainerProbeContextAnnotation = "apps.kruise.io/container-probe-context"
)

// ReadinessGatesNotReadyReason is the reason of a Pod's Ready condition when a gate of ours is False (cloneset.md §6.4).
const ReadinessGatesNotReadyReason = "ReadinessGatesNotReady"

// Image pre-download of workloads (cloneset.md §7, image-pull.md §7). The spelling pre-predownload is that of the labels
// that already exist.
const (
	ImagePreDownloadParallelismAnnotation         = "apps.kruise.io/image-predownload-parallelism"
	ImagePreDownloadTimeoutSecondsAnnotation      = "apps.kruise.io/image-predownload-timeout-seconds"
	ImagePreDownloadMinUpdatedReadyPodsAnnotation = "apps.kruise.io/image-predownload-min-updated-ready-pods"
	ImagePreDownloadCreatedLabel                  = "apps.kruise.io/pre-predownload-created"
	ImagePreDownloadIgnoredLabel                  = "apps.kruise.io/image-predownload-ignored"
)

// CloneSet (cloneset.md §1.9, §2).
const (
	CloneSetInstanceIDLabel             = "apps.kruise.io/cloneset-instance-id"
	CloneSetExcludePreparingDeleteLabel = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete"
	CloneSetVolumeClaimHashAnnotation   = "kruise.io/cloneset-volumeclaimtemplate-hash"
)

// StatefulSetOwnedClaimAnnotation names the set that resizes a claim (statefulset.md §17).
const StatefulSetOwnedClaimAnnotation = "apps.kruise.io/owned-by-asts"

// DaemonSetProgressiveCreateAnnotation is how v1alpha1 spells scaleStrategy.partitionedScaling (daemonset.md §4).
const DaemonSetProgressiveCreateAnnotation = "daemonset.kruise.io/progressive-create-pod"

// BroadcastJob Pods, and jobs of an AdvancedCronJob (jobs.md §A4, §B5).
const (
	BroadcastJobNameLabel          = "broadcastjob-name"
	BroadcastJobControllerUIDLabel = "broadcastjob-controller-uid"
	ScheduledAtAnnotation          = "apps.kruise.io/scheduled-at"
)

// ContainerRecreateRequest (container-recreate.md §2.3). The last two annotations are how v1alpha1 spells
// status.conditions and status.containerStatusSnapshot; the first of them is a finalizer too.
const (
	ContainerRecreateRequestPodUIDLabel     = "crr.apps.kruise.io/pod-uid"
	ContainerRecreateRequestNodeNameLabel   = "crr.apps.kruise.io/node-name"
	ContainerRecreateRequestActiveLabel     = "crr.apps.kruise.io/active"
	ContainerRecreateRequestUnreadyAcquired = "crr.apps.kruise.io/unready-acquired"
	ContainerRecreateRequestSyncStatuses    = "crr.apps.kruise.io/sync-container-statuses"
)

// Images: finalizer of ImagePullJob, copies of its Secrets, mark of our pulls (image-pull.md §2.3, §3.4, §4, §6).
const (
	ImagePullJobFinalizer           = "apps.kruise.io/deletion-protection"
	ImagePullSecretSourceAnnotation = "imagepulljobs.kruise.io/source-key"
	ImagePullSecretUsersAnnotation  = "imagepulljobs.kruise.io/references"
	ImagePullSecretModeAnnotation   = "imagepulljobs.kruise.io/mode"
	ImagePullSecretSourceUIDLabel   = "imagepulljobs.kruise.io/source-uid"
	PullingImageByAnnotation        = "apps.kruise.io/pulling-image-by"
	FakeNodeImageLabel              = "apps.kruise.io/fake-nodeimage"
)

// UnitedDeployment subsets and Pods (multi-domain.md §A3, §A7).
const (
	ControllerRevisionHashLabel   = "apps.kruise.io/controller-revision-hash"
	SubsetNameLabel               = "apps.kruise.io/subset-name"
	SubsetPatchAnnotation         = "apps.kruise.io/subset-patch"
	UnitedDeploymentReservedLabel = "apps.kruise.io/united-deployment-reserved-pod"
)

// WorkloadSpread (multi-domain.md §B4, §B6). The fake subset never leaves the controller's memory.
const (
	MatchedWorkloadSpreadAnnotation   = "apps.kruise.io/matched-workloadspread"
	WorkloadSpreadIgnorePatchMetadata = "workloadspread.kruise.io/ignore-patch-existing-pods-metadata"
	WorkloadSpreadFakeSubsetName      = "kruise.io/workloadspread-fake-subset-name"
	WorkloadSpreadVersionIgnored      = "versionIgnored"
)

// PersistentPodState: on Pods the first, on workloads the others (pod-admission.md §2.6, more-controllers.md §2).
const (
	InjectedPersistentPodStateAnnotation     = "kruise.io/injected-persistent-pod-state"
	AutoGeneratePersistentPodStateAnnotation = "kruise.io/auto-generate-persistent-pod-state"
	RequiredPersistentTopologyAnnotation     = "kruise.io/required-persistent-topology"
	PreferredPersistentTopologyAnnotation    = "kruise.io/preferred-persistent-topology"
	PersistentPodAnnotationsAnnotation       = "kruise.io/persistent-pod-annotations"
)

// PodProbeMarker: on Pods, and its finalizer (pod-admission.md §2.8, more-controllers.md §3).
const (
	PodProbeAnnotation           = "kruise.io/podprobe"
	PodProbeMarkerListAnnotation = "kruise.io/podprobemarker-list"
	NodePodProbeCleanupFinalizer = "kruise.io/node-pod-probe-cleanup"
)

// ResourceDistribution: on the objects it distributes (more-controllers.md §4).
const (
	ResourceDistributionHashAnnotation = "kruise.io/resourcedistribution.resource.hashcode"
	ResourceDistributionFromAnnotation = "kruise.io/resourcedistribution.resource.from"
)

// EphemeralJob: its finalizer, and the environment of its containers (more-controllers.md §5).
const (
	EphemeralContainersFinalizer = "apps.kruise.io/ephemeralcontainers-cleanup"
	EphemeralJobEnv              = "KRUISE_EJOB_ID"
)

// Virtual nodes carry this label with this value; daemons do not run there (daemon.md §10).
const (
	NodeTypeLabel          = "type"
	VirtualKubeletNodeType = "virtual-kubelet"
)

// ConfigMap with allow-lists in the release's namespace, and its keys (webhook-server.md §6).
const (
	ConfigurationName                  = "kruise-configuration"
	SidecarSetMetadataWhiteListKey     = "SidecarSet_PatchPodMetadata_WhiteList"
	PersistentPodStateWhiteListKey     = "PPS_Watch_Custom_Workload_WhiteList"
	WorkloadSpreadWorkloadWhiteListKey = "WorkloadSpread_Watch_Custom_Workload_WhiteList"
)
