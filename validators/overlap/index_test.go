package overlap

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

func selector(t testing.TB, text string) *metav1.LabelSelector {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"", "a=b", true},
		{"a=b", "a=b", true},
		{"a=b", "a=c", false},
		{"a=b", "c=d", true},
		{"a=b,c=d", "a=b,c=e", false},
		{"a in (x,y)", "a in (y,z)", true},
		{"a in (x,y)", "a in (z)", false},
		{"a=x", "a notin (x,y)", false},
		{"a in (x,z)", "a notin (x,y)", true},
		{"a in (x,y)", "a notin (y,x)", false},
		{"a=x", "!a", false},
		{"a", "!a", false},
		{"a", "a notin (x)", true},
		{"a=x", "a", true},
		{"c=d", "a", true},
		{"!a", "!a", true},
		{"!a", "a notin (x)", true},
		{"a in (x,y),a notin (x)", "a=x", false},
	} {
		a, b := Read(selector(t, tt.a)), Read(selector(t, tt.b))
		if Overlap(a, b) != tt.want || Overlap(b, a) != tt.want {
			t.Errorf("Overlap(%q, %q) = %v and %v, want %v", tt.a, tt.b, Overlap(a, b), Overlap(b, a), tt.want)
		}
	}
}

// Of two selectors over two keys with three values each there are few enough labels to try them all.
func TestOverlapAgreesWithTryingAllLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		operators := []metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}
		requirement := rapid.Custom(func(t *rapid.T) metav1.LabelSelectorRequirement {
			r := metav1.LabelSelectorRequirement{
				Key: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"), Operator: rapid.SampledFrom(operators).Draw(t, "operator"),
			}
			if r.Operator == "In" || r.Operator == "NotIn" {
				r.Values = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y"}), 1, 2, rapid.ID).Draw(t, "values")
			}
			return r
		})
		selectors := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *metav1.LabelSelector {
			return &metav1.LabelSelector{MatchExpressions: rapid.SliceOfN(requirement, 0, 3).Draw(t, "requirements")}
		}), 2, 2).Draw(t, "selectors")
		want := false
		var alone [2]bool
		for _, a := range []string{"", "x", "y", "z"} {
			for _, b := range []string{"", "x", "y", "z"} {
				set := labels.Set{"a": a, "b": b}
				for key, value := range set {
					if value == "" {
						delete(set, key)
					}
				}
				first, _ := metav1.LabelSelectorAsSelector(selectors[0])
				second, _ := metav1.LabelSelectorAsSelector(selectors[1])
				alone[0] = alone[0] || first.Matches(set)
				alone[1] = alone[1] || second.Matches(set)
				want = want || first.Matches(set) && second.Matches(set)
			}
		}
		if !alone[0] || !alone[1] {
			t.Skip("a selector that matches nothing at all")
		}
		if got := Overlap(Read(selectors[0]), Read(selectors[1])); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func object(t testing.TB, text string) jsontext.Value {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestConflicts(t *testing.T) {
	const mine = `
metadata: {name: mine}
spec:
  selector: {matchLabels: {app: web}}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
  containers: [{name: agent}]
  initContainers: [{name: setup}]
  volumes: [{name: work, emptyDir: {}}]
  patchPodMetadata: [{patchPolicy: MergePatchJson, annotations: {k: "{}"}}]
`
	for name, tt := range map[string]struct {
		others []string
		want   []Conflict
	}{
		"nobody else":             {nil, nil},
		"itself":                  {[]string{mine}, nil},
		"another container":       {[]string{`{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: other}]}}`}, nil},
		"the container":           {[]string{`{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: agent}]}}`}, []Conflict{{Containers, "spec.containers[0].name", "agent", "a"}}},
		"no common Pods":          {[]string{`{metadata: {name: a}, spec: {selector: {matchLabels: {app: db}}, containers: [{name: agent}]}}`}, nil},
		"no common namespace":     {[]string{`{metadata: {name: a}, spec: {namespace: x, selector: {matchLabels: {app: web}}, containers: [{name: agent}]}}`}, nil},
		"the same namespace":      {[]string{`{metadata: {name: a}, spec: {namespace: shop, selector: {matchLabels: {app: web}}, containers: [{name: agent}]}}`}, []Conflict{{Containers, "spec.containers[0].name", "agent", "a"}}},
		"an init container of it": {[]string{`{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, initContainers: [{name: agent}, {name: setup}]}}`}, []Conflict{{InitContainers, "spec.initContainers[0].name", "setup", "a"}}},
		"an equal volume":         {[]string{`{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, volumes: [{emptyDir: {}, name: work}]}}`}, nil},
		"a different volume":      {[]string{`{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, volumes: [{name: work, emptyDir: {medium: Memory}}]}}`}, []Conflict{{Volumes, "spec.volumes[0].name", "work", "a"}}},
		"an annotation merged":    {[]string{`{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, patchPodMetadata: [{patchPolicy: MergePatchJson, annotations: {k: "{}"}}]}}`}, nil},
		"an annotation retained":  {[]string{`{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, patchPodMetadata: [{annotations: {k: "{}"}}]}}`}, nil},
		"an annotation overwritten": {
			[]string{`{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, patchPodMetadata: [{patchPolicy: Overwrite, annotations: {k: "{}"}}]}}`},
			[]Conflict{{Annotations, "spec.patchPodMetadata[0].annotations[k]", "k", "a"}},
		},
		"its canary": {[]string{`{metadata: {name: a, annotations: {apps.kruise.io/sidecarset-canary: "true", apps.kruise.io/sidecarset-base: mine}}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: agent}]}}`}, nil},
		"the first of two": {[]string{
			`{metadata: {name: b}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: agent}]}}`,
			`{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: agent}]}}`,
		}, []Conflict{{Containers, "spec.containers[0].name", "agent", "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			x := NewIndex()
			for _, other := range tt.others {
				if err := x.Upsert(object(t, other)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := x.Conflicts(object(t, mine), jsontext.Value("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			x.Delete("", "a")
			x.Delete("", "b")
			if got, _ := x.Conflicts(object(t, mine), jsontext.Value("{}")); got != nil {
				t.Errorf("after the deletion of the others: %v", got)
			}
		})
	}
}

func TestConflictsOfACanaryIgnoreItsBase(t *testing.T) {
	x := NewIndex()
	if err := x.Upsert(object(t, `{metadata: {name: base}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: agent}]}}`)); err != nil {
		t.Fatal(err)
	}
	canary := object(t, `{metadata: {name: canary, annotations: {apps.kruise.io/sidecarset-canary: "true", apps.kruise.io/sidecarset-base: base}}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: agent}]}}`)
	if got, err := x.Conflicts(canary, jsontext.Value("{}")); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	if err := x.Upsert(canary); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]bool{"base": {false, true}, "canary": {true, true}, "nobody": {false, false}} {
		if canary, found := x.Canary(name); canary != want[0] || found != want[1] {
			t.Errorf("%s: canary %v, found %v", name, canary, found)
		}
	}
}

// What two SidecarSets disagreed about before does not keep one of them from being changed; anything new does.
func TestConflictsOfAnUpdateAreTheNewOnes(t *testing.T) {
	x := NewIndex()
	if err := x.Upsert(object(t, `{metadata: {name: other}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: a}, {name: b}]}}`)); err != nil {
		t.Fatal(err)
	}
	before := object(t, `{metadata: {name: mine}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: a}]}}`)
	both := object(t, `{metadata: {name: mine}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: a}, {name: b}]}}`)
	elsewhere := object(t, `{metadata: {name: mine}, spec: {selector: {matchLabels: {app: db}}, containers: [{name: a}]}}`)
	b := []Conflict{{Containers, "spec.containers[1].name", "b", "other"}}
	a := []Conflict{{Containers, "spec.containers[0].name", "a", "other"}}
	for name, tt := range map[string]struct {
		before, now jsontext.Value
		want        []Conflict
	}{
		"nothing new":      {before, before, nil},
		"another name":     {before, both, b},
		"another selector": {elsewhere, before, a},
		"a way out":        {both, elsewhere, nil},
	} {
		got, err := x.Conflicts(tt.now, tt.before)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// However SidecarSets are filed, the index finds what comparing all of them with each other finds.
func TestIndexAgreesWithComparingAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.SampledFrom([]string{"", "x", "y", "z"})
		drawn := rapid.Custom(func(t *rapid.T) string {
			selector := map[string]string{}
			for _, key := range []string{"a", "b", "c"} {
				if value := label.Draw(t, key); value != "" {
					selector[key] = value
				}
			}
			encoded, err := yaml.Marshal(map[string]any{
				"metadata": map[string]any{"name": fmt.Sprintf("s%02d", rapid.IntRange(0, 3*few).Draw(t, "name"))},
				"spec": map[string]any{
					"selector":   map[string]any{"matchLabels": selector},
					"containers": []any{map[string]any{"name": rapid.SampledFrom([]string{"p", "p", "p", "q"}).Draw(t, "container")}},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			return string(encoded)
		})
		x, all := NewIndex(), map[string]*set{}
		for _, text := range rapid.SliceOfN(drawn, 0, 4*few).Draw(t, "changes") {
			raw, _ := yaml.YAMLToJSON([]byte(text))
			s, err := read(raw)
			if err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 7).Draw(t, "deletes") == 0 {
				x.Delete("", s.name)
				delete(all, s.name)
				continue
			}
			if err := x.Upsert(raw); err != nil {
				t.Fatal(err)
			}
			all[s.name] = s
		}
		raw, _ := yaml.YAMLToJSON([]byte(drawn.Draw(t, "mine")))
		mine, err := read(raw)
		if err != nil {
			t.Fatal(err)
		}
		var want []Conflict
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if other := all[name]; want == nil && other.claims[0].name == mine.claims[0].name && mine.meets(other) {
				want = []Conflict{{Containers, "spec.containers[0].name", mine.claims[0].name, name}}
			}
		}
		got, err := x.Conflicts(raw, jsontext.Value("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		for name := range all {
			x.Delete("", name)
		}
		if len(x.alone)+len(x.shared)+len(x.ids) != 0 || len(x.free) != len(x.sets) {
			t.Fatalf("left behind: %v, %v, %v, and of %d ids only %d are free", x.alone, x.shared, x.ids, len(x.sets), len(x.free))
		}
	})
}

// The cost must not grow with SidecarSets that share no name with the one that is judged, nor with those that share one but
// select other Pods.
func BenchmarkConflicts(b *testing.B) {
	for _, others := range []int{10, 10_000} {
		b.Run(strconv.Itoa(others), func(b *testing.B) {
			x := NewIndex()
			for i := range others {
				if err := x.Upsert(object(b, fmt.Sprintf(`{metadata: {name: s%d}, spec: {selector: {matchLabels: {app: a%d}}, containers: [{name: c%d}, {name: agent}]}}`, i, i, i))); err != nil {
					b.Fatal(err)
				}
			}
			mine := object(b, `{metadata: {name: mine}, spec: {selector: {matchLabels: {app: web}}, containers: [{name: agent}]}}`)
			for b.Loop() {
				if _, err := x.Conflicts(mine, jsontext.Value("{}")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
