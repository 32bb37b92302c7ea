package facts_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/validators/facts"
)

// TestNamesThatNoObjectHas: users write them, and they become parts of URLs. The API server here has everything, so that
// whoever asks it finds something.
func TestNamesThatNoObjectHas(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"labels":{"kruise.io/sidecarset-name":"x"}}}`))
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	live := facts.NewLive(client, "kruise-system")
	for _, name := range []string{".", "..", "../secrets", "a/b", "a/status", "%2e%2e", "a%", "/"} {
		if _, found, err := live.SidecarSet(t.Context(), name); found || err != nil {
			t.Errorf("SidecarSet %q: found %v, %v", name, found, err)
		}
		if found, err := live.Revision(t.Context(), "x", name, ""); found || err != nil {
			t.Errorf("revision %q: found %v, %v", name, found, err)
		}
		if _, found, err := live.Object(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "shop", name); found || err != nil {
			t.Errorf("Pod %q: found %v, %v", name, found, err)
		}
	}
	if asked != nil {
		t.Errorf("asked for %v", asked)
	}
	if _, found, err := live.SidecarSet(t.Context(), "base"); !found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if found, err := live.Revision(t.Context(), "x", "x-1", ""); !found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}
