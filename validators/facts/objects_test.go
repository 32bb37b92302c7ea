package facts_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/neighbours"
)

// named are objects by their path below the API; what is absent is not found.
type named map[string]string

func (n named) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	body, found := n[r.URL.Path]
	if !found {
		w.WriteHeader(http.StatusNotFound)
		body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	}
	_, _ = io.WriteString(w, body)
}

func live(t *testing.T, objects named) *facts.Live {
	t.Helper()
	backend := httptest.NewServer(objects)
	t.Cleanup(backend.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: backend.URL})
	if err != nil {
		t.Fatal(err)
	}
	return facts.NewLive(client, "kruise-system")
}

func TestLiveObjects(t *testing.T) {
	l := live(t, named{
		"/apis/apps/v1/namespaces/shop/deployments/web": `{"kind":"Deployment"}`,
		"/api/v1/namespaces/shop/pods/web-0":            `{"kind":"Pod"}`,
		"/apis/storage.k8s.io/v1/storageclasses":        `{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`,
	})
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	if raw, found, err := l.Object(t.Context(), deployments, "shop", "web"); err != nil || !found || string(raw) != `{"kind":"Deployment"}` {
		t.Errorf("%s %t %v", raw, found, err)
	}
	if raw, found, err := l.Object(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "shop", "web-0"); err != nil || !found || string(raw) != `{"kind":"Pod"}` {
		t.Errorf("%s %t %v", raw, found, err)
	}
	if _, found, err := l.Object(t.Context(), deployments, "shop", "absent"); err != nil || found {
		t.Errorf("%t %v", found, err)
	}
	classes := schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	if all, err := l.Objects(t.Context(), classes, ""); err != nil || len(all) != 2 {
		t.Errorf("%s %v", all, err)
	}
	// A kind that is not installed has no objects.
	if all, err := l.Objects(t.Context(), deployments, "nowhere"); err != nil || all != nil {
		t.Errorf("%s %v", all, err)
	}
}

// call asks a builtin.
func call(t *testing.T, s facts.Sources, name string, args ...string) string {
	t.Helper()
	var terms []*ast.Term
	for _, arg := range args {
		terms = append(terms, ast.MustParseTerm(arg))
	}
	return callWith(t, s, name, terms)
}

func callWith(t *testing.T, s facts.Sources, name string, terms []*ast.Term) string {
	t.Helper()
	for _, b := range facts.Builtins(s) {
		if b.Name != name {
			continue
		}
		answer, err := b.Call(t.Context(), terms)
		if err != nil {
			return "error: " + err.Error()
		}
		return answer.String()
	}
	t.Fatalf("there is no builtin %s", name)
	return ""
}

func TestStorageClasses(t *testing.T) {
	const expandable, is, not = `"allowVolumeExpansion":true`, `{"storageclass.kubernetes.io/is-default-class":"true"}`, `{}`
	class := func(name, age, annotations, more string) string {
		return `{"metadata":{"name":"` + name + `","creationTimestamp":"2026-01-0` + age + `T00:00:00Z","annotations":` + annotations + `},` + more + `}`
	}
	older := class("older", "1", is, `"allowVolumeExpansion":false`)
	newer := class("newer", "2", is, expandable)
	other := class("other", "3", not, expandable)
	const list = "/apis/storage.k8s.io/v1/storageclasses"
	s := facts.Sources{Objects: live(t, named{list: `{"items":[` + older + "," + newer + "," + other + `]}`, list + "/older": older})}
	for name, want := range map[string]string{
		`""`:       `{"fixed": false, "found": true, "name": "newer"}`,
		`"older"`:  `{"fixed": true, "found": true, "name": "older"}`,
		`"absent"`: `{"fixed": false, "found": false, "name": "absent"}`,
	} {
		if diff := cmp.Diff(want, call(t, s, "fairlead.storage_class", name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Without a cluster there is nobody else; what cannot be read is no verdict.
func TestNeighbours(t *testing.T) {
	target := `{"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}`
	for name, args := range map[string][]string{
		"fairlead.same_target":         {`"workloadspreads"`, `"shop"`, `"a"`, target},
		"fairlead.overlapping_budgets": {`"shop"`, `"a"`, `{"matchLabels": {"a": "b"}}`},
		"fairlead.not_own_pods":        {`"shop"`, `["a"]`, `"u"`},
	} {
		if got := call(t, facts.Sources{}, name, args...); got != "[]" && got != "{}" {
			t.Errorf("%s: %s", name, got)
		}
		if got := call(t, facts.Sources{Objects: nobody{}, Neighbours: crowd(t)}, name, args...); !strings.Contains(got, errAway.Error()) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := call(t, facts.Sources{Objects: nobody{}}, "fairlead.same_target", `"secrets"`, `"shop"`, `"a"`, target); !strings.Contains(got, "nobody may ask") {
		t.Errorf("secrets: %s", got)
	}
}

// crowd has a neighbour of each kind that is in the way.
func crowd(t *testing.T) *neighbours.Index {
	t.Helper()
	x := neighbours.NewIndex(clock.RealClock{})
	for _, resource := range facts.Compared() {
		raw := `{"metadata":{"namespace":"shop","name":"b"},"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"x"},"selector":{"matchLabels":{"a":"b"}}}}`
		if err := x.Sink(resource.Resource).Upsert(jsontext.Value(raw)); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

type nobody struct{}

var _ facts.Objects = nobody{}

func (nobody) Object(context.Context, schema.GroupVersionResource, string, string) (jsontext.Value, bool, error) {
	return nil, false, errAway
}

func (nobody) Objects(context.Context, schema.GroupVersionResource, string) ([]jsontext.Value, error) {
	return nil, errAway
}
