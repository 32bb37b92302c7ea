package defaults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// TestTakeover reads SidecarSets as a running OpenKruise stored them, before and after upgrades: a takeover must change
// neither their hashes nor anything else.
func TestTakeover(t *testing.T) {
	for _, file := range []string{"created.yaml", "updated.yaml"} {
		for _, object := range readList(t, filepath.Join("testdata/takeover", file)) {
			t.Run(file+"/"+nameOf(t, object), func(t *testing.T) {
				got, err := SidecarSet(jsontext.Value(object))
				if err != nil {
					t.Fatal(err)
				}
				annotations := annotationsOf(t, object)
				if want := annotations[v1beta1.SidecarSetHashAnnotation]; got.Hash != want {
					t.Errorf("hash %s, stored %s", got.Hash, want)
				}
				if want := annotations[v1beta1.SidecarSetHashWithoutImageAnnotation]; got.HashWithoutImage != want {
					t.Errorf("hash without image %s, stored %s", got.HashWithoutImage, want)
				}
				if got.Patch != nil {
					t.Errorf("the stored object is patched: %s", got.Patch)
				}
			})
		}
	}
}

// TestTakeoverManifests gives the manifests that OpenKruise was given, as v1alpha1, and wants the hashes that it
// computed for them.
func TestTakeoverManifests(t *testing.T) {
	for _, object := range readList(t, "testdata/takeover/created.yaml") {
		t.Run(nameOf(t, object), func(t *testing.T) {
			annotations := annotationsOf(t, object)
			got, err := SidecarSet([]byte(annotations["kubectl.kubernetes.io/last-applied-configuration"]))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{
				v1beta1.SidecarSetHashAnnotation:             annotations[v1beta1.SidecarSetHashAnnotation],
				v1beta1.SidecarSetHashWithoutImageAnnotation: annotations[v1beta1.SidecarSetHashWithoutImageAnnotation],
			}
			if diff := cmp.Diff(want, annotationsOf(t, got.Object)); diff != "" {
				t.Errorf("annotations (-stored +ours):\n%s", diff)
			}
		})
	}
}

// readList is the items of a List in a YAML file, as JSON.
func readList(t *testing.T, file string) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []json.RawMessage }
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		t.Fatalf("%s: no items", file)
	}
	return list.Items
}

type metadata struct {
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
}

func metadataOf(t *testing.T, object []byte) (m metadata) {
	t.Helper()
	if err := json.Unmarshal(object, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func nameOf(t *testing.T, object []byte) string { return metadataOf(t, object).Metadata.Name }

func annotationsOf(t *testing.T, object []byte) map[string]string {
	return metadataOf(t, object).Metadata.Annotations
}
