package v1beta1_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// hash is the SidecarSet hash of sidecarset.md §3.1 for a set without init sidecars.
func hash(t *testing.T, containers []v1beta1.SidecarContainer) (text, sum string) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"containers": containers})
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(data)
	return string(data), rand.SafeEncodeString(hex.EncodeToString(digest[:]))
}

func TestSidecarContainerEncodesTheCheckVector(t *testing.T) {
	text, sum := hash(t, []v1beta1.SidecarContainer{{Container: corev1.Container{Name: "logger", Image: "busybox:1"}}})
	if want := `{"containers":[{"name":"logger","image":"busybox:1","resources":{},"upgradeStrategy":{},"shareVolumePolicy":{}}]}`; text != want {
		t.Errorf("encoded\n%s, want\n%s", text, want)
	}
	if want := "v4fx6c6v4w424wdw48c5672zvcxcxvzvd88wxf2278c5249czf767c44b7c9z959"; sum != want {
		t.Errorf("hash is %s, want %s", sum, want)
	}
}

func TestSidecarContainerEncodesEveryFieldInOrder(t *testing.T) {
	text, _ := hash(t, []v1beta1.SidecarContainer{{
		Container:               corev1.Container{Name: "a", Image: "b"},
		PodInjectPolicy:         v1beta1.AfterAppContainerType,
		UpgradeStrategy:         v1beta1.SidecarContainerUpgradeStrategy{UpgradeType: v1beta1.SidecarContainerHotUpgrade, HotUpgradeEmptyImage: "e"},
		ShareVolumePolicy:       v1beta1.ShareVolumePolicy{Type: v1beta1.ShareVolumePolicyEnabled},
		ShareVolumeDevicePolicy: &v1beta1.ShareVolumePolicy{Type: v1beta1.ShareVolumePolicyDisabled},
		TransferEnv: []v1beta1.TransferEnvVar{{
			SourceContainerName:     "main",
			SourceContainerNameFrom: &v1beta1.SourceContainerNameSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.labels['k']"}},
			EnvName:                 "A",
			EnvNames:                []string{"B"},
		}},
		ResourcesPolicy: &v1beta1.ResourcesPolicy{
			TargetContainersMode:      v1beta1.TargetContainersModeSum,
			TargetContainersNameRegex: ".*",
			ResourcesExpr: v1beta1.ResourcesExpr{
				Limits:   &v1beta1.ResourceExprLimits{CPU: "cpu", Memory: "memory"},
				Requests: &v1beta1.ResourceExprRequests{CPU: "1"},
			},
		},
	}})
	want := `{"containers":[{"name":"a","image":"b","resources":{},"podInjectPolicy":"AfterAppContainer",` +
		`"upgradeStrategy":{"upgradeType":"HotUpgrade","hotUpgradeEmptyImage":"e"},"shareVolumePolicy":{"type":"enabled"},` +
		`"shareVolumeDevicePolicy":{"type":"disabled"},"transferEnv":[{"sourceContainerName":"main",` +
		`"sourceContainerNameFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.labels['k']"}},"envName":"A","envNames":["B"]}],` +
		`"resourcesPolicy":{"targetContainersMode":"sum","targetContainersNameRegex":".*",` +
		`"resourcesExpr":{"limits":{"cpu":"cpu","memory":"memory"},"requests":{"cpu":"1"}}}}]}`
	if text != want {
		t.Errorf("encoded\n%s, want\n%s", text, want)
	}
}

// TestStoredHashesAreReproduced computes the hashes that OpenKruise wrote on SidecarSets of its own.
func TestStoredHashesAreReproduced(t *testing.T) {
	data, err := os.ReadFile("../../testdata/takeover/sidecarsets.v1beta1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list v1beta1.SidecarSetList
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 {
		t.Fatalf("fixture holds %d SidecarSets, want 2", len(list.Items))
	}
	for _, set := range list.Items {
		if _, sum := hash(t, set.Spec.Containers); sum != set.Annotations[v1beta1.SidecarSetHashAnnotation] {
			t.Errorf("hash of %s is %s, want %s", set.Name, sum, set.Annotations[v1beta1.SidecarSetHashAnnotation])
		}
		for i := range set.Spec.Containers {
			set.Spec.Containers[i].Image = ""
		}
		if _, sum := hash(t, set.Spec.Containers); sum != set.Annotations[v1beta1.SidecarSetHashWithoutImageAnnotation] {
			t.Errorf("hash without image of %s is %s, want %s", set.Name, sum, set.Annotations[v1beta1.SidecarSetHashWithoutImageAnnotation])
		}
	}
}

// TestEmptyStructsArePresent holds what revisions of running objects contain: structs that are `{}` rather than absent.
func TestEmptyStructsArePresent(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{v1beta1.CloneSetSpec{}, `{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"scaleStrategy":{},"updateStrategy":{}}`},
		{v1beta1.SidecarSetSpec{}, `{"updateStrategy":{},"injectionStrategy":{}}`},
		{v1beta1.Subset{Name: "a"}, `{"name":"a","nodeSelectorTerm":{}}`},
		{v1beta1.UnitedDeploymentUpdateStrategy{ManualUpdate: &v1beta1.ManualUpdate{}}, `{"manualUpdate":{}}`},
		{v1beta1.WorkloadSpreadSpec{}, `{"targetRef":null,"subsets":null,"scheduleStrategy":{}}`},
		{v1beta1.BroadcastJobSpec{}, `{"template":{"metadata":{},"spec":{"containers":null}},"completionPolicy":{},"failurePolicy":{}}`},
		{v1beta1.NodeImageStatus{}, `{"desired":0,"succeeded":0,"failed":0,"pulling":0,"waiting":0}`},
	} {
		data, err := json.Marshal(c.value)
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != c.want {
			t.Errorf("%T encodes as %s, want %s", c.value, data, c.want)
		}
	}
}
