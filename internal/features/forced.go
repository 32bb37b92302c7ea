package features

import (
	"slices"

	"k8s.io/component-base/featuregate"
)

// rule is one line of the forced dependencies of webhook-server.md §5: while `when` has the value `is`, every gate in
// `then` has the value `value`, whatever was asked for.
type rule struct {
	when  featuregate.Feature
	is    bool
	then  []featuregate.Feature
	value bool
}

// rules in the order in which they apply: the daemon's absence switches pre-download off before pre-download switches
// image pull jobs on.
var rules = []rule{
	{when: PodWebhook, is: false, value: false, then: []featuregate.Feature{
		KruisePodReadinessGate, PodUnavailableBudgetDeleteGate, PodUnavailableBudgetUpdateGate, WorkloadSpread,
		SidecarSetPatchPodMetadataDefaultsAllowed, EnhancedLivenessProbe, EnablePodProbeMarkerOnServerless,
	}},
	{when: KruiseDaemon, is: false, value: false, then: []featuregate.Feature{
		PreDownloadImageForInPlaceUpdate, PreDownloadImageForDaemonSetUpdate, DaemonWatchingPod,
		InPlaceUpdateEnvFromMetadata, PodProbeMarkerGate, SidecarTerminator, ImagePullJobGate, EnhancedLivenessProbe,
	}},
	{when: PreDownloadImageForInPlaceUpdate, is: true, value: true, then: []featuregate.Feature{ImagePullJobGate}},
	{when: PreDownloadImageForDaemonSetUpdate, is: true, value: true, then: []featuregate.Feature{ImagePullJobGate}},
	{when: ResourcesDeletionProtection, is: false, value: false, then: []featuregate.Feature{
		DeletionProtectionForCRDCascadingGate,
	}},
}

// Forced is a gate whose value is not what was asked for, because of another gate.
type Forced struct {
	Gate  featuregate.Feature
	Value bool
	// Because is the gate whose value forces this one.
	Because featuregate.Feature
}

// resolve applies the rules to the wanted values and reports what they changed, by name.
func resolve(wanted map[featuregate.Feature]bool) (map[featuregate.Feature]bool, []Forced) {
	effective := make(map[featuregate.Feature]bool, len(wanted))
	for gate, value := range wanted {
		effective[gate] = value
	}
	var forced []Forced
	for _, r := range rules {
		if effective[r.when] != r.is {
			continue
		}
		for _, gate := range r.then {
			if effective[gate] != r.value {
				effective[gate] = r.value
				forced = append(forced, Forced{Gate: gate, Value: r.value, Because: r.when})
			}
		}
	}
	slices.SortFunc(forced, func(a, b Forced) int { return compare(a.Gate, b.Gate) })
	return effective, forced
}
