package defaults

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// hashOf is the hash of an encoding that a test spells out.
func hashOf(encoded string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	sum := sha256.Sum256([]byte(encoded))
	digits := []byte(hex.EncodeToString(sum[:]))
	for i, digit := range digits {
		digits[i] = alphabet[int(digit)%len(alphabet)]
	}
	return string(digits)
}

func TestHashCheckVector(t *testing.T) {
	container := v1beta1.SidecarContainer{}
	container.Name, container.Image = "logger", "busybox:1"
	got, _, err := HashSidecars([]v1beta1.SidecarContainer{container}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "v4fx6c6v4w424wdw48c5672zvcxcxvzvd88wxf2278c5249czf767c44b7c9z959"; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestHashSidecars(t *testing.T) {
	const always, blank = `"restartPolicy":"Always",`, `"resources":{},"upgradeStrategy":{},"shareVolumePolicy":{}`
	for _, c := range []struct {
		name, containers, initContainers string
		want, withoutImage               string
	}{
		{"nothing", `null`, `null`, `{"containers":null}`, `{"containers":null}`},
		{"an empty list", `[]`, `[]`, `{"containers":[]}`, `{"containers":[]}`},
		{"ordinary init containers do not count", `null`, `[{"name":"i","image":"b:1"},{"name":"j","restartPolicy":"Never"}]`,
			`{"containers":null}`, `{"containers":null}`},
		{"one native sidecar brings in all init containers", `null`, `[{"name":"i","image":"b:1"},{"name":"n","image":"c:1","restartPolicy":"Always"}]`,
			`{"containers":null,"initContainers":[{"name":"i","image":"b:1",` + blank + `},{"name":"n","image":"c:1","resources":{},` + always + `"upgradeStrategy":{},"shareVolumePolicy":{}}]}`,
			`{"containers":null,"initContainers":[{"name":"i",` + blank + `},{"name":"n","resources":{},` + always + `"upgradeStrategy":{},"shareVolumePolicy":{}}]}`},
		{"the empty image of a hot upgrade is not blanked", `[{"name":"h","image":"h:1","upgradeStrategy":{"hotUpgradeEmptyImage":"e:1"}}]`, `null`,
			`{"containers":[{"name":"h","image":"h:1","resources":{},"upgradeStrategy":{"hotUpgradeEmptyImage":"e:1"},"shareVolumePolicy":{}}]}`,
			`{"containers":[{"name":"h","resources":{},"upgradeStrategy":{"hotUpgradeEmptyImage":"e:1"},"shareVolumePolicy":{}}]}`},
		{"fields in their order, escaped for HTML",
			`[{"transferEnv":[{"envName":"A"}],"shareVolumeDevicePolicy":{"type":"enabled"},"podInjectPolicy":"AfterAppContainer","command":["a>b&c"],"name":"f"}]`, `null`,
			`{"containers":[{"name":"f","command":["a\u003eb\u0026c"],"resources":{},"podInjectPolicy":"AfterAppContainer","upgradeStrategy":{},"shareVolumePolicy":{},"shareVolumeDevicePolicy":{"type":"enabled"},"transferEnv":[{"envName":"A"}]}]}`,
			`{"containers":[{"name":"f","command":["a\u003eb\u0026c"],"resources":{},"podInjectPolicy":"AfterAppContainer","upgradeStrategy":{},"shareVolumePolicy":{},"shareVolumeDevicePolicy":{"type":"enabled"},"transferEnv":[{"envName":"A"}]}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			containers, initContainers := readContainers(t, c.containers), readContainers(t, c.initContainers)
			hash, withoutImage, err := HashSidecars(containers, initContainers)
			if err != nil {
				t.Fatal(err)
			}
			if want := hashOf(c.want); hash != want {
				t.Errorf("hash %s, want %s", hash, want)
			}
			if want := hashOf(c.withoutImage); withoutImage != want {
				t.Errorf("hash without image %s, want %s", withoutImage, want)
			}
			if diff := cmp.Diff(readContainers(t, c.containers), containers); diff != "" {
				t.Errorf("hashing changed the caller's containers:\n%s", diff)
			}
			if diff := cmp.Diff(readContainers(t, c.initContainers), initContainers); diff != "" {
				t.Errorf("hashing changed the caller's init containers:\n%s", diff)
			}
		})
	}
}

// TestHashSees tells what changes a SidecarSet's hash and what must never start a rollout (sidecarset.md §3.1).
func TestHashSees(t *testing.T) {
	const base = `{"apiVersion":"apps.kruise.io/v1beta1","spec":{"containers":[{"name":"c","image":"a:1","resources":{"limits":{"cpu":"500m"}}}]}}`
	for _, c := range []struct {
		name, sent                 string
		sameHash, sameWithoutImage bool
	}{
		{"the other version", `{"apiVersion":"apps.kruise.io/v1alpha1","spec":{"namespace":"n","containers":[{"name":"c","image":"a:1","resources":{"limits":{"cpu":"500m"}}}]}}`, true, true},
		{"order and spelling", `{"spec":{"containers":[{"resources":{"limits":{"cpu":0.50}},"image":"a:1","name":"c"}]}}`, true, true},
		{"defaults written out", `{"spec":{"containers":[{"name":"c","image":"a:1","imagePullPolicy":"IfNotPresent","podInjectPolicy":"BeforeAppContainer","resources":{"limits":{"cpu":"500m"}}}]}}`, true, true},
		{"an unknown field", `{"spec":{"containers":[{"name":"c","image":"a:1","resources":{"limits":{"cpu":"500m"}},"futureKnob":1}]}}`, true, true},
		{"everything but containers", `{"spec":{"selector":{"matchLabels":{"a":"b"}},"volumes":[{"name":"v"}],"imagePullSecrets":[{"name":"s"}],
			"patchPodMetadata":[{"annotations":{"a":"b"}}],"updateStrategy":{"type":"NotUpdate"},"injectionStrategy":{"paused":true},"initContainers":[{"name":"i"}],
			"containers":[{"name":"c","image":"a:1","resources":{"limits":{"cpu":"500m"}}}]}}`, true, true},
		{"an image", `{"spec":{"containers":[{"name":"c","image":"a:2","resources":{"limits":{"cpu":"500m"}}}]}}`, false, true},
		{"an image with another pull policy", `{"spec":{"containers":[{"name":"c","image":"a:latest","resources":{"limits":{"cpu":"500m"}}}]}}`, false, false},
		{"a resource", `{"spec":{"containers":[{"name":"c","image":"a:1","resources":{"limits":{"cpu":"501m"}}}]}}`, false, false},
		{"a native sidecar", `{"spec":{"initContainers":[{"name":"i","restartPolicy":"Always"}],"containers":[{"name":"c","image":"a:1","resources":{"limits":{"cpu":"500m"}}}]}}`, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := SidecarSet(jsontext.Value(base))
			if err != nil {
				t.Fatal(err)
			}
			got, err := SidecarSet(jsontext.Value(c.sent))
			if err != nil {
				t.Fatal(err)
			}
			if same := got.Hash == want.Hash; same != c.sameHash {
				t.Errorf("same hash: %v", same)
			}
			if same := got.HashWithoutImage == want.HashWithoutImage; same != c.sameWithoutImage {
				t.Errorf("same hash without image: %v", same)
			}
		})
	}
}

func readContainers(t *testing.T, list string) (containers []v1beta1.SidecarContainer) {
	t.Helper()
	if err := json.Unmarshal([]byte(list), &containers); err != nil {
		t.Fatal(err)
	}
	return containers
}
