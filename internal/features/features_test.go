package features

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"
)

// documented is the table of webhook-server.md §5 with the decision on ResourcesDeletionProtection, one gate a line:
// name, default, stage.
const documented = `
PodWebhook true beta
KruiseDaemon true beta
DaemonWatchingPod true beta
WorkloadSpread true beta
PodUnavailableBudgetDeleteGate true beta
PodUnavailableBudgetUpdateGate false alpha
ResourcesDeletionProtection true beta
DeletionProtectionForCRDCascadingGate false alpha
InPlaceUpdateEnvFromMetadata true beta
StatefulSetAutoDeletePVC true beta
PodProbeMarkerGate true beta
PodIndexLabel true beta
ResourceDistributionGate false beta
CloneSetShortHash false alpha
KruisePodReadinessGate false alpha
PreDownloadImageForInPlaceUpdate false alpha
PreDownloadImageForDaemonSetUpdate false alpha
CloneSetPartitionRollback false alpha
TemplateNoDefaults false alpha
SidecarSetPatchPodMetadataDefaultsAllowed false alpha
SidecarTerminator false alpha
CloneSetEventHandlerOptimization false alpha
PreparingUpdateAsUpdate false alpha
ImagePullJobGate false alpha
EnhancedLivenessProbe false alpha
RecreatePodWhenChangeVCTInCloneSetGate false alpha
StatefulSetStartOrdinal false alpha
EnableExternalCerts false alpha
StatefulSetAutoResizePVCGate false alpha
ForceDeleteTimeoutExpectationGate false alpha
InPlaceWorkloadVerticalScaling false alpha
InPlacePodVerticalScaling false alpha
EnablePodProbeMarkerOnServerless false alpha
EnableSortSidecarContainerByName false alpha
DefaultHostNetworkHostPortsInPodTemplates false alpha
DaemonSetPruneIneligibleNodes false alpha
`

func TestTheDocumentedGates(t *testing.T) {
	gates := New("")
	lines := strings.Split(strings.TrimSpace(documented), "\n")
	if got := len(gates.Names()); got != len(lines) {
		t.Errorf("there are %d gates, want %d", got, len(lines))
	}
	for _, line := range lines {
		f := strings.Fields(line)
		name := featuregate.Feature(f[0])
		if got, want := gates.Enabled(name), f[1] == "true"; got != want {
			t.Errorf("%s is %v by default, want %v", name, got, want)
		}
		stage := string(gates.gate.GetAll()[name].PreRelease)
		if !strings.EqualFold(stage, f[2]) {
			t.Errorf("%s is %s, want %s", name, stage, f[2])
		}
	}
	if forced := gates.Forced(); len(forced) != 0 {
		t.Errorf("the defaults contradict each other: %v", forced)
	}
}

func TestSet(t *testing.T) {
	off := func(names ...featuregate.Feature) map[featuregate.Feature]bool { return all(false, names) }
	on := func(names ...featuregate.Feature) map[featuregate.Feature]bool { return all(true, names) }
	tests := []struct {
		name  string
		flags []string
		want  map[featuregate.Feature]bool
	}{
		{"one", []string{"ImagePullJobGate=true"}, on(ImagePullJobGate)},
		{"spaces and empty items", []string{" PodWebhook=true, ,WorkloadSpread=false,"}, off(WorkloadSpread)},
		{"alpha group", []string{"AllAlpha=true"}, on(EnableExternalCerts, TemplateNoDefaults, PodWebhook, StatefulSetStartOrdinal)},
		{"group with exceptions", []string{"AllAlpha=true,AllBeta=true,EnableExternalCerts=false,TemplateNoDefaults=false"},
			merge(on(ResourceDistributionGate, SidecarTerminator), off(EnableExternalCerts, TemplateNoDefaults))},
		{"beta group off", []string{"AllBeta=false"}, off(PodWebhook, KruiseDaemon, PodIndexLabel, ResourcesDeletionProtection)},
		{"a later flag wins", []string{"PodWebhook=false", "PodWebhook=true"}, on(PodWebhook, WorkloadSpread)},
		{"no Pod webhook", []string{"AllAlpha=true,PodWebhook=false"},
			merge(off(KruisePodReadinessGate, PodUnavailableBudgetDeleteGate, PodUnavailableBudgetUpdateGate, WorkloadSpread,
				SidecarSetPatchPodMetadataDefaultsAllowed, EnhancedLivenessProbe, EnablePodProbeMarkerOnServerless),
				on(ResourcesDeletionProtection, ImagePullJobGate))},
		{"no daemon", []string{"AllAlpha=true,KruiseDaemon=false"},
			merge(off(PreDownloadImageForInPlaceUpdate, PreDownloadImageForDaemonSetUpdate, DaemonWatchingPod,
				InPlaceUpdateEnvFromMetadata, PodProbeMarkerGate, SidecarTerminator, ImagePullJobGate, EnhancedLivenessProbe),
				on(KruisePodReadinessGate))},
		{"pre-download in place", []string{"PreDownloadImageForInPlaceUpdate=true"}, on(ImagePullJobGate)},
		{"pre-download for daemons", []string{"PreDownloadImageForDaemonSetUpdate=true,ImagePullJobGate=false"}, on(ImagePullJobGate)},
		{"no protection", []string{"ResourcesDeletionProtection=false,DeletionProtectionForCRDCascadingGate=true"},
			off(DeletionProtectionForCRDCascadingGate)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			gates := New("")
			for _, flag := range tt.flags {
				if err := gates.Set(flag); err != nil {
					t.Fatal(err)
				}
			}
			for name, want := range tt.want {
				if got := gates.Enabled(name); got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
		})
	}
}

func TestForcedNamesTheCause(t *testing.T) {
	gates := New("")
	if err := gates.Set("PreDownloadImageForInPlaceUpdate=true"); err != nil {
		t.Fatal(err)
	}
	want := []Forced{{Gate: ImagePullJobGate, Value: true, Because: PreDownloadImageForInPlaceUpdate}}
	if diff := cmp.Diff(want, gates.Forced()); diff != "" {
		t.Error(diff)
	}
}

func TestLegacyListOfKinds(t *testing.T) {
	for list, want := range map[string]bool{
		"": true, "CloneSet,SidecarSet": true, "CloneSet, SidecarSet": true, "CloneSet,StatefulSet": false,
	} {
		if got := New(list).Enabled(PodWebhook); got != want {
			t.Errorf("with CUSTOM_RESOURCE_ENABLE=%q PodWebhook is %v, want %v", list, got, want)
		}
	}
	gates := New("CloneSet")
	if err := gates.Set("PodWebhook=true"); err != nil || !gates.Enabled(PodWebhook) {
		t.Errorf("an explicit PodWebhook=true loses against the legacy list (%v)", err)
	}
}

func TestMistakesNameTheWayOut(t *testing.T) {
	for flag, want := range map[string]string{
		"podWebhook=true":                "did you mean PodWebhook?",
		"ImagePullJob=true":              "did you mean ImagePullJobGate?",
		"WorkloadSpreadGate=true":        "did you mean WorkloadSpread?",
		"SidecarTerminater=true":         "did you mean SidecarTerminator?",
		"PreDownloadImageForUpdate=true": "unknown feature gate \"PreDownloadImageForUpdate\"",
		"TopologyAwareHints=true":        "--help lists them all",
		"Gate=true":                      "--help lists them all",
		"=true":                          "unknown feature gate \"\"",
		"PodWebhook":                     "missing bool value for PodWebhook",
		"PodWebhook=on":                  "invalid value of PodWebhook=on",
	} {
		gates := New("")
		err := gates.Set(flag)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--feature-gates=%s gives %v, want %q in it", flag, err, want)
		}
		if !gates.Enabled(PodWebhook) {
			t.Errorf("--feature-gates=%s failed and changed a gate", flag)
		}
	}
}

func TestFlag(t *testing.T) {
	gates := New("")
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	gates.AddFlag(flags)
	if err := flags.Parse([]string{"--feature-gates=ImagePullJobGate=true"}); err != nil {
		t.Fatal(err)
	}
	if !gates.Enabled(ImagePullJobGate) || gates.String() != "ImagePullJobGate=true" {
		t.Errorf("the flag reads back as %q", gates)
	}
	if usage := flags.FlagUsages(); !strings.Contains(usage, "ResourcesDeletionProtection=true|false (BETA - default=true)") {
		t.Errorf("the usage does not say the defaults: %s", usage)
	}
}

func TestAMisspeltGateInTheCodeIsLoud(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("asking for a gate that does not exist does not panic")
		}
	}()
	New("").Enabled("PodWebhok")
}

func all(value bool, names []featuregate.Feature) map[featuregate.Feature]bool {
	m := make(map[featuregate.Feature]bool)
	for _, name := range names {
		m[name] = value
	}
	return m
}

func merge(a, b map[featuregate.Feature]bool) map[featuregate.Feature]bool {
	for name, value := range b {
		a[name] = value
	}
	return a
}
