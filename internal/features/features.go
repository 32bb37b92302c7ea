// Package features has the feature gates of every Fairlead process: their names, defaults and stages, and what one
// gate forces upon others (webhook-server.md §5). The names are those that OpenKruise users have in their values files.
package features

import (
	"k8s.io/component-base/featuregate"
)

// The gates. What each one switches is said in the table of specs below.
const (
	PodWebhook                                featuregate.Feature = "PodWebhook"
	KruiseDaemon                              featuregate.Feature = "KruiseDaemon"
	DaemonWatchingPod                         featuregate.Feature = "DaemonWatchingPod"
	WorkloadSpread                            featuregate.Feature = "WorkloadSpread"
	PodUnavailableBudgetDeleteGate            featuregate.Feature = "PodUnavailableBudgetDeleteGate"
	PodUnavailableBudgetUpdateGate            featuregate.Feature = "PodUnavailableBudgetUpdateGate"
	ResourcesDeletionProtection               featuregate.Feature = "ResourcesDeletionProtection"
	DeletionProtectionForCRDCascadingGate     featuregate.Feature = "DeletionProtectionForCRDCascadingGate"
	InPlaceUpdateEnvFromMetadata              featuregate.Feature = "InPlaceUpdateEnvFromMetadata"
	StatefulSetAutoDeletePVC                  featuregate.Feature = "StatefulSetAutoDeletePVC"
	PodProbeMarkerGate                        featuregate.Feature = "PodProbeMarkerGate"
	PodIndexLabel                             featuregate.Feature = "PodIndexLabel"
	ResourceDistributionGate                  featuregate.Feature = "ResourceDistributionGate"
	CloneSetShortHash                         featuregate.Feature = "CloneSetShortHash"
	KruisePodReadinessGate                    featuregate.Feature = "KruisePodReadinessGate"
	PreDownloadImageForInPlaceUpdate          featuregate.Feature = "PreDownloadImageForInPlaceUpdate"
	PreDownloadImageForDaemonSetUpdate        featuregate.Feature = "PreDownloadImageForDaemonSetUpdate"
	CloneSetPartitionRollback                 featuregate.Feature = "CloneSetPartitionRollback"
	TemplateNoDefaults                        featuregate.Feature = "TemplateNoDefaults"
	SidecarSetPatchPodMetadataDefaultsAllowed featuregate.Feature = "SidecarSetPatchPodMetadataDefaultsAllowed"
	SidecarTerminator                         featuregate.Feature = "SidecarTerminator"
	CloneSetEventHandlerOptimization          featuregate.Feature = "CloneSetEventHandlerOptimization"
	PreparingUpdateAsUpdate                   featuregate.Feature = "PreparingUpdateAsUpdate"
	ImagePullJobGate                          featuregate.Feature = "ImagePullJobGate"
	EnhancedLivenessProbe                     featuregate.Feature = "EnhancedLivenessProbe"
	RecreatePodWhenChangeVCTInCloneSetGate    featuregate.Feature = "RecreatePodWhenChangeVCTInCloneSetGate"
	StatefulSetStartOrdinal                   featuregate.Feature = "StatefulSetStartOrdinal"
	EnableExternalCerts                       featuregate.Feature = "EnableExternalCerts"
	StatefulSetAutoResizePVCGate              featuregate.Feature = "StatefulSetAutoResizePVCGate"
	ForceDeleteTimeoutExpectationGate         featuregate.Feature = "ForceDeleteTimeoutExpectationGate"
	InPlaceWorkloadVerticalScaling            featuregate.Feature = "InPlaceWorkloadVerticalScaling"
	InPlacePodVerticalScaling                 featuregate.Feature = "InPlacePodVerticalScaling"
	EnablePodProbeMarkerOnServerless          featuregate.Feature = "EnablePodProbeMarkerOnServerless"
	EnableSortSidecarContainerByName          featuregate.Feature = "EnableSortSidecarContainerByName"
	DefaultHostNetworkHostPortsInPodTemplates featuregate.Feature = "DefaultHostNetworkHostPortsInPodTemplates"
	DaemonSetPruneIneligibleNodes             featuregate.Feature = "DaemonSetPruneIneligibleNodes"
)

// specs is the table of webhook-server.md §5. A gate that is off by default although beta has that from the users'
// point of view: AllBeta=true switches it on.
func specs() map[featuregate.Feature]featuregate.FeatureSpec {
	on := featuregate.FeatureSpec{Default: true, PreRelease: featuregate.Beta}
	beta := featuregate.FeatureSpec{Default: false, PreRelease: featuregate.Beta}
	alpha := featuregate.FeatureSpec{Default: false, PreRelease: featuregate.Alpha}
	return map[featuregate.Feature]featuregate.FeatureSpec{
		PodWebhook:                     on, // the webhooks of Pods
		KruiseDaemon:                   on, // everything that needs the node daemon
		DaemonWatchingPod:              on, // the daemon watches its node's Pods
		WorkloadSpread:                 on,
		PodUnavailableBudgetDeleteGate: on, // budgets judge deletes and evictions
		PodUnavailableBudgetUpdateGate: alpha,
		// On, unlike OpenKruise since 1.8: our webhooks see labelled objects only, so it costs nothing to others.
		ResourcesDeletionProtection:               on,
		DeletionProtectionForCRDCascadingGate:     alpha, // needs the right to list every resource
		InPlaceUpdateEnvFromMetadata:              on,
		StatefulSetAutoDeletePVC:                  on,
		PodProbeMarkerGate:                        on,
		PodIndexLabel:                             on, // ordinal label on Pods of a StatefulSet
		ResourceDistributionGate:                  beta,
		CloneSetShortHash:                         alpha, // the revision label holds only the hash
		KruisePodReadinessGate:                    alpha, // readiness gate on every Pod
		PreDownloadImageForInPlaceUpdate:          alpha,
		PreDownloadImageForDaemonSetUpdate:        alpha,
		CloneSetPartitionRollback:                 alpha,
		TemplateNoDefaults:                        alpha, // Pod templates keep absent fields absent
		SidecarSetPatchPodMetadataDefaultsAllowed: alpha, // patchPodMetadata without an allow-list
		SidecarTerminator:                         alpha,
		CloneSetEventHandlerOptimization:          alpha,
		PreparingUpdateAsUpdate:                   alpha,
		ImagePullJobGate:                          alpha,
		EnhancedLivenessProbe:                     alpha,
		RecreatePodWhenChangeVCTInCloneSetGate:    alpha,
		StatefulSetStartOrdinal:                   alpha,
		EnableExternalCerts:                       alpha, // certificates come from outside, e.g. cert-manager
		StatefulSetAutoResizePVCGate:              alpha,
		ForceDeleteTimeoutExpectationGate:         alpha,
		InPlaceWorkloadVerticalScaling:            alpha,
		InPlacePodVerticalScaling:                 alpha, // budgets treat resize apart from update
		EnablePodProbeMarkerOnServerless:          alpha,
		EnableSortSidecarContainerByName:          alpha,
		DefaultHostNetworkHostPortsInPodTemplates: alpha,
		DaemonSetPruneIneligibleNodes:             alpha,
	}
}
