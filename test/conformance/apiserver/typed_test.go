package apiserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

func typedClient(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	objects, err := client.New(c.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(objects, "Strict")
}

// checkTyped creates an object from our Go type, which sends a status of zeros, and writes back what it reads. The phase
// of a ContainerRecreateRequest is empty at first, and that is not among the values its schema allows.
func checkTyped(t *testing.T, objects client.Client, e example) {
	t.Helper()
	object, err := objects.Scheme().New(e.object.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	typed := object.(client.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(e.object.Object, typed); err != nil {
		t.Fatal(err)
	}
	name := e.name() + "-typed"
	typed.SetName(name)
	typed.SetNamespace(e.key(name).Namespace)
	if err := objects.Create(t.Context(), typed); err != nil {
		t.Fatal(err)
	}
	before := read(t, objects, e, name).Object["spec"]
	if err := objects.Get(t.Context(), e.key(name), typed); err != nil {
		t.Fatal(err)
	}
	if err := objects.Update(t.Context(), typed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read(t, objects, e, name).Object["spec"]); diff != "" {
		t.Errorf("writing back what was read changed the spec:\n%s", diff)
	}
}
