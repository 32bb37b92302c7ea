package defaults

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/validators/dryrun"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// apiServer knows defaults: it adds a restartPolicy, what a container lacks, and what nobody asked for.
type apiServer struct {
	asked   []dryrun.Template
	vouched []dryrun.Template
	err     error
}

func (s *apiServer) Defaulted(_ context.Context, t dryrun.Template) (jsontext.Value, error) {
	s.asked = append(s.asked, t)
	if s.err != nil || strings.Contains(string(t.Object), "broken") {
		return nil, s.err
	}
	made, err := jsonpatch.MergePatch(t.Object, []byte(`{"metadata":{"labels":{"injected":"x"}},"spec":{"dnsPolicy":"ClusterFirst","nodeName":"injected"}}`))
	if err != nil {
		return nil, err
	}
	var template map[string]any
	if err := yaml.Unmarshal(made, &template); err != nil {
		return nil, err
	}
	spec := template["spec"].(map[string]any)
	if spec["restartPolicy"] == nil {
		spec["restartPolicy"] = "Always"
	}
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		c.(map[string]any)["terminationMessagePath"] = "/dev/termination-log"
		c.(map[string]any)["tty"] = true
		if probe, ok := c.(map[string]any)["livenessProbe"].(map[string]any); ok {
			probe["periodSeconds"] = 10
		}
	}
	spec["containers"] = append(containers, map[string]any{"name": "injected"})
	out, err := yaml.Marshal(template)
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(out)
}

func (s *apiServer) Vouch(t dryrun.Template) { s.vouched = append(s.vouched, t) }

type gateSet []featuregate.Feature

func (g gateSet) Enabled(gate featuregate.Feature) bool { return slices.Contains(g, gate) }

// defaultsCase is an entry of testdata/kinds.
type defaultsCase struct {
	Name   string                `json:"name"`
	Gates  []featuregate.Feature `json:"gates"`
	Old    map[string]any        `json:"old"`
	Object map[string]any        `json:"object"`
	Want   map[string]any        `json:"want"`
	// Once is set where a creation adds what the version does not show afterwards.
	Once bool `json:"once"`
	// Asked is how many templates the API server is asked about.
	Asked int `json:"asked"`
}

func raw(t *testing.T, object map[string]any) jsontext.Value {
	t.Helper()
	if object == nil {
		return nil
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	return text
}

func newDefaulter(api Templates, gates ...featuregate.Feature) *Defaulter {
	return New(Options{Templates: api, Gates: gateSet(gates), Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }})
}

// TestKinds: every kind gets its defaults, and a second time nothing changes.
func TestKinds(t *testing.T) {
	files, err := filepath.Glob("testdata/kinds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []defaultsCase
		if err := yaml.UnmarshalStrict(text, &cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range cases {
			name := c.Object["kind"].(string)
			covered[name] = true
			t.Run(name+" "+c.Name, func(t *testing.T) { c.check(t, name) })
		}
	}
	for name := range newDefaulter(nil).kinds() {
		if !covered[name] {
			t.Errorf("no case of %s", name)
		}
	}
}

func (c defaultsCase) check(t *testing.T, name string) {
	api := &apiServer{}
	handler := newDefaulter(api, c.Gates...).Handler(name)
	req := &admission.Request{Operation: admission.Create, Object: raw(t, c.Object), OldObject: raw(t, c.Old)}
	if c.Old != nil {
		req.Operation = admission.Update
	}
	after := patched(t, req, handler.Handle(t.Context(), req))
	var got map[string]any
	if err := yaml.Unmarshal(after, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Want, got["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if len(api.asked) != c.Asked {
		t.Errorf("asked about %d templates, want %d", len(api.asked), c.Asked)
	}
	for _, again := range []*admission.Request{
		{Operation: admission.Create, Object: after}, {Operation: admission.Update, Object: after, OldObject: after},
		{Operation: admission.Update, Object: req.Object, OldObject: after},
	} {
		if c.Old != nil && again.Operation == admission.Create || c.Once && string(again.Object) != string(after) {
			continue // an update leaves alone what a creation would complete
		}
		if response := handler.Handle(t.Context(), again); string(patched(t, again, response)) != string(canonical(t, after)) {
			t.Errorf("%s again: %s", again.Operation, response.Patch)
		} else if string(again.Object) == string(after) && response.Patch != nil {
			t.Errorf("a patch that changes nothing: %s", response.Patch)
		}
	}
}

func canonical(t *testing.T, value jsontext.Value) jsontext.Value {
	t.Helper()
	value = value.Clone()
	if err := value.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return value
}

// patched is the object with the answer's patch.
func patched(t *testing.T, req *admission.Request, response admission.Response) jsontext.Value {
	t.Helper()
	if !response.Allowed {
		t.Fatalf("%+v %+v", response, response.Status)
	}
	object := []byte(req.Object)
	if response.Patch != nil {
		patch, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			t.Fatal(err)
		}
		if object, err = patch.Apply(object); err != nil {
			t.Fatal(err)
		}
	}
	return canonical(t, object)
}

const cloneSetWith = `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"x"},"future":{"n":9007199254740993},"spec":{"template":{"spec":{"containers":[{"name":"a","future":1.50}]}}}}`

// What nobody knows here keeps its bytes, and whoever made the template of one that is right vouches for it.
func TestUnknownMembersStay(t *testing.T) {
	api := &apiServer{}
	req := &admission.Request{Operation: admission.Create, Object: jsontext.Value(cloneSetWith)}
	response := newDefaulter(api).Handler("CloneSet").Handle(t.Context(), req)
	for _, path := range []string{`"/spec/template"`, `"/future`, `"/spec/template/spec/containers"`, "tty", "injected"} {
		if strings.Contains(string(response.Patch), path) {
			t.Errorf("%s is in the patch %s", path, response.Patch)
		}
	}
	if want := `{"spec":{"containers":[{"name":"a","future":1.50,"imagePullPolicy":"Always","terminationMessagePath":"/dev/termination-log"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always"}}`; len(api.vouched) != 1 || string(api.vouched[0].Object) != want {
		t.Errorf("vouched for %s", api.vouched)
	}
}

func TestWithoutAnAnswer(t *testing.T) {
	object := jsontext.Value(cloneSetWith)
	response := newDefaulter(&apiServer{err: errors.New("connection refused")}).Handler("CloneSet").
		Handle(t.Context(), &admission.Request{Operation: admission.Create, Object: object})
	if !response.Allowed || len(response.Warnings) != 1 || response.Warnings[0] != "spec.template has no defaults: connection refused" || !strings.Contains(string(response.Patch), "revisionHistoryLimit") {
		t.Errorf("%+v %s", response, response.Patch)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	response = newDefaulter(&apiServer{err: context.Canceled}).Handler("CloneSet").Handle(ctx, &admission.Request{Operation: admission.Create, Object: object})
	if response.Allowed || response.Fault != 503 {
		t.Errorf("%+v", response)
	}
	// What is no template is for the rules to refuse, and without a cluster nobody knows defaults.
	for name, templates := range map[string]Templates{"broken": &apiServer{}, "none": nil} {
		broken := jsontext.Value(strings.Replace(cloneSetWith, `"a"`, `"broken"`, 1))
		response := newDefaulter(templates).Handler("CloneSet").Handle(t.Context(), &admission.Request{Operation: admission.Create, Object: broken})
		if !response.Allowed || response.Warnings != nil || strings.Contains(string(response.Patch), "restartPolicy") {
			t.Errorf("%s: %+v %s", name, response, response.Patch)
		}
	}
}

func TestWhatPassesTheDefaulter(t *testing.T) {
	handler := newDefaulter(&apiServer{}).Handler("CloneSet")
	deleted := jsontext.Value(`{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"},"spec":{}}`)
	for name, req := range map[string]*admission.Request{
		"a deletion":            {Operation: admission.Delete, OldObject: deleted},
		"the status":            {Operation: admission.Update, SubResource: "status", Object: jsontext.Value(cloneSetWith)},
		"what is being deleted": {Operation: admission.Update, Object: deleted, OldObject: deleted},
	} {
		if got := handler.Handle(t.Context(), req); !got.Allowed || got.Patch != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	forged := &admission.Request{Operation: admission.Create, Object: deleted}
	if got := handler.Handle(t.Context(), forged); !got.Allowed || got.Patch == nil {
		t.Errorf("a creation that says that it is being deleted: %+v", got)
	}
	for _, broken := range []string{"", "[]", "{", `"x"`} {
		req := &admission.Request{Operation: admission.Create}
		if broken != "" {
			req.Object = jsontext.Value(broken)
		}
		if got := handler.Handle(t.Context(), req); got.Allowed || got.Status.Code != 400 {
			t.Errorf("%q: %+v", broken, got)
		}
	}
	if newDefaulter(nil).Handler("WorkloadSpread") != nil {
		t.Error("a WorkloadSpread has no defaults")
	}
}

// Values of every kind in the place of every part change nothing that the rules could not refuse.
func TestShapesThatAreNotExpected(t *testing.T) {
	d := newDefaulter(&apiServer{})
	for name := range d.kinds() {
		for _, spec := range []string{
			`7`, `[]`, `{"template":7}`, `{"template":{"spec":[]}}`, `{"updateStrategy":"x"}`, `{"updateStrategy":{"rollingUpdate":[]}}`,
			`{"images":[]}`, `{"images":{"a":{"tags":{}}}}`, `{"images":{"a":{"tags":[1,"b"]},"b":3}}`, `{"volumeClaimTemplates":{"a":1}}`,
			`{"topology":{"subsets":[1]}}`, `{"topology":{"subsets":{}}}`, `{"pullPolicy":"x"}`, `{"template":{"spec":{"containers":[{"name":1,"env":{}}]}}}`,
		} {
			for _, version := range []string{"v1alpha1", "v1beta1"} {
				object := jsontext.Value(`{"apiVersion":"apps.kruise.io/` + version + `","spec":` + spec + `}`)
				req := &admission.Request{Operation: admission.Create, Object: object}
				patched(t, req, d.Handler(name).Handle(t.Context(), req))
			}
		}
	}
}
