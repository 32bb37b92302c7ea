package policyaudit

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/validators/userpolicy/bundles"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
)

const (
	own   = "kruise-system"
	where = "/api/v1/namespaces/" + own + "/configmaps"
)

// api is an API server that lists, describes itself, and takes patches of ConfigMaps.
type api struct {
	t  *testing.T
	mu sync.Mutex
	// items are the objects by the path of their list, as JSON; forbidden are paths that nobody may list.
	items     map[string][]string
	forbidden []string
	// expires is how many continued lists are answered with 410 and a new token.
	expires int
	// conflict refuses patches.
	conflict bool
	lists    []string
	patches  []string
	server   *httptest.Server
}

var resources = map[string][]metav1.APIResource{
	"v1": {
		{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"list", "create"}},
		{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"}},
		{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"list"}},
		{Name: "namespaces", Kind: "Namespace", Verbs: metav1.Verbs{"list"}},
		{Name: "nodes", Kind: "Node", Verbs: metav1.Verbs{"list"}},
		{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
	},
	"apps.kruise.io/v1alpha1": {{Name: "clonesets", Kind: "CloneSet", Namespaced: true, Verbs: metav1.Verbs{"list"}}},
	"apps.kruise.io/v1beta1":  {{Name: "clonesets", Kind: "CloneSet", Namespaced: true, Verbs: metav1.Verbs{"list"}}},
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{t: t, items: make(map[string][]string)}
	a.server = httptest.NewServer(a)
	t.Cleanup(a.server.Close)
	return a
}

// put adds an object, as YAML, to a list.
func (a *api) put(path, object string) {
	raw, err := yaml.YAMLToJSON([]byte(object))
	if err != nil {
		a.t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.items[path] = append(a.items[path], string(raw))
}

// set puts a ConfigMap with a set in place of the one of its name.
func (a *api) set(name string, files map[string]string) {
	a.remove(name)
	data, err := json.Marshal(files)
	if err != nil {
		a.t.Fatal(err)
	}
	a.put(where, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":"u-%s","labels":{"fairlead.io/policy":"true"}},"data":%s}`, name, own, name, data))
}

// settings puts a ConfigMap with the settings of a bundle.
func (a *api) settings(bundle, text string) {
	a.remove(bundle + "-settings")
	a.put(where, fmt.Sprintf(`{"metadata":{"name":"%s-settings","namespace":%q,"uid":"u-%[1]s-settings","labels":{"fairlead.io/policy-bundle":%[1]q}},"data":{"settings.yaml":%[3]q}}`, bundle, own, text))
}

func (a *api) remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.items[where] = slices.DeleteFunc(a.items[where], func(item string) bool { return strings.Contains(item, `"name":"`+name+`"`) })
}

// summary is the annotation that a set has.
func (a *api) summary(name string) (s *Summary) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, item := range a.items[where] {
		c, err := sources.ReadConfigMap([]byte(item))
		if err != nil {
			a.t.Fatal(err)
		}
		if text := c.Metadata.Annotations[Annotation]; c.Metadata.Name == name && text != "" {
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	return s
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodPatch:
		a.patch(w, r)
	case r.URL.Path == "/api":
		a.answer(w, 200, metav1.APIVersions{Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		version := func(v string) metav1.GroupVersionForDiscovery {
			return metav1.GroupVersionForDiscovery{GroupVersion: "apps.kruise.io/" + v, Version: v}
		}
		a.answer(w, 200, metav1.APIGroupList{Groups: []metav1.APIGroup{{
			Name: "apps.kruise.io", Versions: []metav1.GroupVersionForDiscovery{version("v1alpha1"), version("v1beta1")}, PreferredVersion: version("v1beta1"),
		}}})
	case resources[strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/"), "/apis/")] != nil || strings.HasPrefix(r.URL.Path, "/apis/") && resources[strings.TrimPrefix(r.URL.Path, "/apis/")] != nil:
		version := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
		a.answer(w, 200, metav1.APIResourceList{GroupVersion: version, APIResources: resources[version]})
	default:
		a.list(w, r)
	}
}

func (a *api) answer(w http.ResponseWriter, code int, body any) {
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		a.t.Error(err)
	}
}

func (a *api) refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, token string) {
	a.answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason,
		Message: "refused", ListMeta: metav1.ListMeta{Continue: token},
	})
}

func (a *api) list(w http.ResponseWriter, r *http.Request) {
	a.lists = append(a.lists, r.URL.Path+"?"+r.URL.RawQuery)
	token := r.URL.Query().Get("continue")
	switch {
	case slices.Contains(a.forbidden, r.URL.Path):
		a.refuse(w, 403, metav1.StatusReasonForbidden, "")
		return
	case token != "" && a.expires > 0:
		a.expires--
		a.refuse(w, 410, metav1.StatusReasonExpired, token)
		return
	}
	start, _ := strconv.Atoi(token)
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		a.t.Errorf("%s has no limit", r.URL)
	}
	items := a.items[r.URL.Path]
	end, next := min(start+limit, len(items)), ""
	if end < len(items) {
		next = strconv.Itoa(end)
	}
	fmt.Fprintf(w, `{"kind":"List","metadata":{"resourceVersion":"5","continue":%q},"items":[%s]}`, next, strings.Join(items[start:end], ","))
}

// patch merges annotations into a ConfigMap of the right uid.
func (a *api) patch(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Error(err)
	}
	var patch struct {
		Metadata struct {
			UID         string             `json:"uid"`
			Annotations map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		a.t.Error(err)
	}
	if a.conflict {
		a.refuse(w, 409, metav1.StatusReasonConflict, "")
		return
	}
	a.patches = append(a.patches, string(body))
	name := strings.TrimPrefix(r.URL.Path, where+"/")
	for i, item := range a.items[where] {
		if !strings.Contains(item, `"name":"`+name+`"`) || patch.Metadata.UID != "u-"+name {
			continue
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(item), &object); err != nil {
			a.t.Error(err)
		}
		metadata := object["metadata"].(map[string]any)
		delete(metadata, "annotations")
		if value := patch.Metadata.Annotations[Annotation]; value != nil {
			metadata["annotations"] = map[string]string{Annotation: *value}
		}
		raw, _ := json.Marshal(object)
		a.items[where][i] = string(raw)
		a.answer(w, 200, object)
		return
	}
	a.refuse(w, 404, metav1.StatusReasonNotFound, "")
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// auditor audits this API server.
func (a *api) auditor() (*Auditor, *clocktesting.FakeClock) {
	a.t.Helper()
	return a.auditorOf()
}

// auditorOf audits the sets of bundles too.
func (a *api) auditorOf(of ...bundles.Config) (*Auditor, *clocktesting.FakeClock) {
	a.t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: a.server.URL})
	if err != nil {
		a.t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(start)
	return New(Options{
		Client: client.CoreV1().RESTClient(), Discovery: client.Discovery(), Namespace: own, Interval: time.Hour, Clock: clock, Bundles: of,
		Random: func() float64 { return 0 }, Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
	}), clock
}
