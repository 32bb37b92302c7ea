package deletion

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// world is a census of what the test says, and of what was asked for.
type world struct {
	pods, claims, objects Count
	fault                 error
	asked                 []string
}

func (w *world) ActivePods(_ context.Context, namespace string) (Count, error) {
	w.asked = append(w.asked, "pods "+namespace)
	return w.pods, w.fault
}

func (w *world) BoundClaims(_ context.Context, namespace string) (Count, error) {
	w.asked = append(w.asked, "claims "+namespace)
	return w.claims, w.fault
}

func (w *world) CustomResources(_ context.Context, r schema.GroupVersionResource) (Count, error) {
	w.asked = append(w.asked, "objects "+r.String())
	return w.objects, w.fault
}

var errAway = errors.New("the API server is away")

// deletion is a request to delete an object of a kind and resource.
func deletion(t *testing.T, apiVersion, kind, resource, object string) *admission.Request {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		t.Fatal(err)
	}
	req := &admission.Request{Operation: admission.Delete, OldObject: raw, UserInfo: admission.UserInfo{Username: "someone"}}
	req.Kind.Group, req.Kind.Version, req.Kind.Kind = gv.Group, gv.Version, kind
	req.Resource.Group, req.Resource.Version, req.Resource.Resource = gv.Group, gv.Version, resource
	return req
}
