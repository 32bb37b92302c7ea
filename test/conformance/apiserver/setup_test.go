package apiserver

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/conformance"
)

const crdDir = "../../../charts/kruise/files/crds"

// start starts an API server that serves our definitions.
func start(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	kubectl(t, c, "apply", "--server-side", "-f", crdDir)
	kubectl(t, c, "wait", "--for=condition=Established", "--timeout=60s", "-f", crdDir)
	return c
}

func kubectl(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func create(t *testing.T, c *cluster.Cluster, manifest string) {
	t.Helper()
	if _, err := c.KubectlInput(t.Context(), strings.NewReader(manifest), "create", "--validate=warn", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// example is an object of one kind and version, and its row in the table.
type example struct {
	conformance.Kind
	object   *unstructured.Unstructured
	manifest string
}

// resource names the kind in its version, as kubectl takes it.
func (e example) resource() string { return e.Plural() + "." + e.Version + "." + e.Group }

func (e example) name() string { return e.object.GetName() }

// key finds an object of this kind.
func (e example) key(name string) client.ObjectKey {
	if e.Scope == "Namespaced" {
		return client.ObjectKey{Namespace: "default", Name: name}
	}
	return client.ObjectKey{Name: name}
}

// path is the path on the API server, for namespaced kinds.
func (e example) path() string {
	return "/apis/" + e.Group + "/" + e.Version + "/namespaces/default/" + e.Plural() + "/" + e.name()
}

// examples reads one object of each kind and version.
func examples(t *testing.T) []example {
	t.Helper()
	kinds, err := conformance.ReadKinds()
	if err != nil {
		t.Fatal(err)
	}
	objects := readObjects(t)
	var all []example
	for _, k := range kinds {
		e, ok := objects[k.Group+"/"+k.Version+" "+k.Kind]
		if !ok {
			t.Fatalf("testdata/objects.yaml has no %s of %s/%s", k.Kind, k.Group, k.Version)
		}
		e.Kind = k
		all = append(all, e)
	}
	return all
}

func readObjects(t *testing.T) map[string]example {
	t.Helper()
	data, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]example{}
	for manifest := range strings.SplitSeq(string(data), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
			t.Fatal(err)
		}
		objects[object.GetAPIVersion()+" "+object.GetKind()] = example{object: object, manifest: manifest}
	}
	return objects
}
