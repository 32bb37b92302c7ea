package validators_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/dryrun"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/overlap"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// table is a file of testdata.
type table struct {
	Kind   string            `json:"kind"`
	Good   json.RawMessage   `json:"good"`
	Others []json.RawMessage `json:"others"`
	Cases  []example         `json:"cases"`
}

type example struct {
	Rule  string          `json:"rule"`
	Old   json.RawMessage `json:"old"`
	Patch json.RawMessage `json:"patch"`
	Right json.RawMessage `json:"right"`
	Code  int32           `json:"code"`
	// Without are gates that are off.
	Without []string          `json:"without"`
	Want    map[string]string `json:"want"`
}

func tables(t testing.TB) (all []table) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var one table
		if err := yaml.UnmarshalStrict(raw, &one); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, one)
	}
	return all
}

// cluster stands in for the API server.
type cluster struct{}

func (cluster) SidecarSet(_ context.Context, name string) (canary, found bool, err error) {
	return false, name == "unwatched", nil
}

func (cluster) Revision(_ context.Context, sidecarSet, name, customVersion string) (bool, error) {
	return sidecarSet == "good" && (name == "good-1" || name == "" && customVersion == "v1"), nil
}

func (cluster) Configuration(_ context.Context, key string) (string, error) {
	switch key {
	case "SidecarSet_PatchPodMetadata_WhiteList":
	case "WorkloadSpread_Watch_Custom_Workload_WhiteList", "PPS_Watch_Custom_Workload_WhiteList":
		return `{"workloads": [{"Group": "example.com", "Version": "v1", "Kind": "Game"}]}`, nil
	default:
		return "", nil
	}
	return `{"rules": [{"selector": "everybody", "allowedAnnotationKeyExprs": [".*"]}, {"allowedAnnotationKeyExprs": ["^(ok|OK)/"]},
		{"selector": {"matchLabels": {"team": "trusted"}}, "allowedAnnotationKeyExprs": ["secret"]}]}`, nil
}

func (cluster) Problems(_ context.Context, pod dryrun.Pod) ([]dryrun.Problem, error) {
	if strings.Contains(string(pod.Containers), `"broken"`) {
		return []dryrun.Problem{{Field: "spec.containers[0].image", Type: "FieldValueRequired", Body: "Required value"}}, nil
	}
	return nil, nil
}

// gates are those that are on while a case is judged, unless it says otherwise.
func gates(off ...string) map[string]any {
	on := map[string]any{"SidecarSetPatchPodMetadataDefaultsAllowed": false}
	for _, gate := range []string{
		"StatefulSetAutoResizePVCGate", "WorkloadSpread", "PodUnavailableBudgetDeleteGate", "PodUnavailableBudgetUpdateGate",
		"KruiseDaemon", "ImagePullJobGate", "ResourceDistributionGate", "PodProbeMarkerGate",
	} {
		on[gate] = !slices.Contains(off, gate)
	}
	return on
}

func newEngine(t testing.TB, others ...json.RawMessage) *validators.Engine {
	t.Helper()
	return newEngineWith(t, gates(), others...)
}

func newEngineWith(t testing.TB, on map[string]any, others ...json.RawMessage) *validators.Engine {
	t.Helper()
	index := overlap.NewIndex()
	for _, other := range others {
		if err := index.Upsert([]byte(other)); err != nil {
			t.Fatal(err)
		}
	}
	engine, err := validators.New(t.Context(), validators.Options{
		Builtins: facts.Builtins(facts.Sources{
			SidecarSets: index, Pods: cluster{}, Reader: cluster{}, Templates: cluster{}, Objects: cluster{}, Neighbours: watched(t),
		}),
		Inventory: map[string]any{"gates": on},
		Log:       logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func merged(t testing.TB, good, patch json.RawMessage) []byte {
	t.Helper()
	if patch == nil {
		return good
	}
	result, err := jsonpatch.MergePatch(good, patch)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (x table) request(t testing.TB, old, patch json.RawMessage) *admission.Request {
	t.Helper()
	req := &admission.Request{Operation: admission.Create, Object: merged(t, x.Good, patch)}
	var named struct{ Metadata struct{ Name string } }
	if err := json.Unmarshal(req.Object, &named); err != nil {
		t.Fatal(err)
	}
	req.Name = named.Metadata.Name
	if old != nil {
		req.Operation, req.OldObject = admission.Update, merged(t, x.Good, old)
	}
	return req
}

func (x table) groupKind() schema.GroupKind {
	if x.Kind == "PodUnavailableBudget" {
		return schema.GroupKind{Group: "policy.kruise.io", Kind: x.Kind}
	}
	return schema.GroupKind{Group: "apps.kruise.io", Kind: x.Kind}
}

// TestEveryRuleFires: each rule of the table finds the mistakes of its examples, at their fields and nowhere else, and
// leaves what is right alone.
func TestEveryRuleFires(t *testing.T) {
	fired := make(map[string]bool)
	var known []string
	all := newEngine(t) // compiled once: most kinds have no others
	for _, x := range tables(t) {
		engine := all
		if x.Others != nil {
			engine = newEngine(t, x.Others...)
		}
		handler := engine.Handler(x.groupKind())
		known = nil
		for _, rule := range engine.Rules() {
			known = append(known, rule.ID)
		}
		if got := handler.Handle(t.Context(), x.request(t, nil, nil)); !got.Allowed || got.Warnings != nil {
			t.Fatalf("the good %s: %+v", x.Kind, got)
		}
		for _, c := range x.Cases {
			t.Run(c.Rule, func(t *testing.T) {
				engine, handler := engine, handler
				if c.Without != nil {
					engine = newEngineWith(t, gates(c.Without...), x.Others...)
					handler = engine.Handler(x.groupKind())
				}
				x.check(t, handler, c)
				if verdict := judge(t, engine, x, c); slices.Equal(verdict, []string{c.Rule}) {
					fired[c.Rule] = true
				} else {
					t.Errorf("violated are %v", verdict)
				}
			})
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(known, slices.Sorted(maps.Keys(fired))); diff != "" {
		t.Errorf("rules (-there are +with an example that only they refuse):\n%s", diff)
	}
}

func judge(t *testing.T, engine *validators.Engine, x table, c example) []string {
	t.Helper()
	violated, err := validators.Violated(t.Context(), engine, x.groupKind(), x.request(t, c.Old, c.Patch))
	if err != nil {
		t.Fatal(err)
	}
	return violated
}

func (x table) check(t *testing.T, handler admission.Handler, c example) {
	t.Helper()
	if c.Right != nil {
		if got := handler.Handle(t.Context(), x.request(t, c.Old, c.Right)); !got.Allowed {
			t.Errorf("what is right is refused: %+v", got.Status)
		}
	}
	got := handler.Handle(t.Context(), x.request(t, c.Old, c.Patch))
	if got.Allowed || got.Fault != 0 {
		t.Fatalf("not refused: %+v %+v", got, got.Status)
	}
	want := c.Code
	if want == 0 {
		want = http.StatusUnprocessableEntity
	}
	if got.Status.Code != want || got.Status.Details == nil {
		t.Fatalf("code %d, want %d: %s", got.Status.Code, want, got.Status.Message)
	}
	fields := make(map[string]bool)
	for _, cause := range got.Status.Details.Causes {
		fields[cause.Field] = true
		if part := c.Want[cause.Field]; part == "" || !strings.Contains(cause.Message, part) {
			t.Errorf("%s: %s; want %q in it", cause.Field, cause.Message, part)
		}
		if !strings.Contains(got.Status.Message, cause.Field+": "+cause.Message) {
			t.Errorf("the message lacks a cause: %s", got.Status.Message)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(c.Want)), slices.Sorted(maps.Keys(fields))); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}
