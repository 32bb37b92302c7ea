package sidecarset

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/test/golden"
)

func set(name, spec string) string {
	return "metadata: {name: " + name + "}\nspec: " + spec
}

func (x *Index) named(namespace string, labels map[string]string) (names []string) {
	for _, f := range x.candidates(namespace, labels) {
		names = append(names, x.compiled.of(f).name)
	}
	slices.Sort(names)
	return names
}

// Every SidecarSet that selects a Pod is a candidate, exactly once; that is all that the index promises.
func TestCandidatesMissNothing(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "c"})
	requirement := rapid.Custom(func(t *rapid.T) metav1.LabelSelectorRequirement {
		r := metav1.LabelSelectorRequirement{
			Key:      word.Draw(t, "key"),
			Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}).Draw(t, "operator"),
		}
		if r.Operator == "In" || r.Operator == "NotIn" {
			r.Values = rapid.SliceOfN(word, 1, 3).Draw(t, "values") // may have one twice
		}
		return r
	})
	podLabels := rapid.MapOf(word, word)
	rapid.Check(t, func(t *rapid.T) {
		index, selectors, pins := NewIndex(), map[string]labels.Selector{}, map[string]string{}
		for i := range rapid.IntRange(1, 12).Draw(t, "sets") {
			name := fmt.Sprintf("set-%d", i%9) // the later ones are updates
			selector := metav1.LabelSelector{
				MatchLabels:      podLabels.Draw(t, "matchLabels"),
				MatchExpressions: rapid.SliceOfN(requirement, 0, 3).Draw(t, "matchExpressions"),
			}
			pins[name] = rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "namespace")
			raw := fmt.Appendf(nil, `{"metadata":{"name":%q},"spec":{"namespace":%q,"selector":%s}}`,
				name, pins[name], golden.Encode(t, selector))
			if err := index.Upsert(raw); err != nil {
				t.Fatal(err)
			}
			var err error
			if selectors[name], err = metav1.LabelSelectorAsSelector(&selector); err != nil {
				t.Fatal(err)
			}
			if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
				selectors[name] = labels.Nothing()
			}
		}
		if gone := "set-0"; rapid.Bool().Draw(t, "delete") {
			index.Delete(gone)
			delete(selectors, gone)
		}
		pod, namespace := podLabels.Draw(t, "pod"), rapid.SampledFrom([]string{"one", "two"}).Draw(t, "namespace")
		found := index.named(namespace, pod)
		if twice := slices.Compact(slices.Clone(found)); len(twice) != len(found) {
			t.Fatalf("a candidate comes twice: %q", found)
		}
		for name, selector := range selectors {
			matches := selector.Matches(labels.Set(pod)) && (pins[name] == "" || pins[name] == namespace)
			if matches && !slices.Contains(found, name) {
				t.Fatalf("%s selects %v in %s, but the candidates are %q", name, pod, namespace, found)
			}
		}
	})
}

// A Pod must not pay for SidecarSets that do not match it.
func TestCandidatesAreFew(t *testing.T) {
	index := NewIndex()
	upsert := func(set string) {
		if err := index.Upsert(toJSON(t, set)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		upsert(set(fmt.Sprintf("label-%02d", i), fmt.Sprintf("{selector: {matchLabels: {inject: please, app: app-%d}}}", i)))
		upsert(set(fmt.Sprintf("in-%02d", i), fmt.Sprintf("{selector: {matchExpressions: [{key: app, operator: In, values: [app-%d, app-%d]}]}}", i, i+1000)))
		upsert(set(fmt.Sprintf("pinned-%02d", i), fmt.Sprintf("{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ns-%d}}, selector: {matchLabels: {inject: please}}}", i)))
		upsert(set(fmt.Sprintf("exists-%02d", i), fmt.Sprintf("{selector: {matchExpressions: [{key: key-%d, operator: Exists}, {key: app, operator: NotIn, values: [x]}]}}", i)))
		upsert(set(fmt.Sprintf("paused-%02d", i), "{injectionStrategy: {paused: true}, selector: {matchLabels: {inject: please}}}"))
	}
	upsert(set("absent", "{selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}"))
	got := index.named("ns-3", map[string]string{"inject": "please", "app": "app-7", "key-9": ""})
	want := []string{"absent", "exists-09", "in-07", "label-07", "pinned-03"}
	golden.Equal(t, "candidates", got, want)
}

func TestIndexFollowsChanges(t *testing.T) {
	index := newIndex(t, set("s", "{selector: {matchLabels: {a: b}}}"))
	find := func(label string) []string { return index.named("ns", map[string]string{label: "b"}) }
	step := func(what, sets string, a, c []string) {
		t.Helper()
		if err := index.Upsert(toJSON(t, sets)); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, what+", label a", find("a"), a)
		golden.Equal(t, what+", label c", find("c"), c)
	}
	step("another selector", set("s", "{selector: {matchLabels: {c: b}}}"), nil, []string{"s"})
	step("paused", set("s", "{injectionStrategy: {paused: true}, selector: {matchLabels: {c: b}}}"), nil, nil)
	step("unpaused", set("s", "{selector: {matchLabels: {a: b}}}"), []string{"s"}, nil)
	index.Delete("unknown")
	index.Delete("s")
	golden.Equal(t, "after Delete", find("a"), []string(nil))
	if len(index.places) != 0 || index.Len() != 0 {
		t.Errorf("after the last Delete %d places and %d SidecarSets are left", len(index.places), index.Len())
	}
}

func TestIndexKeepsTheLastGoodVersion(t *testing.T) {
	index := newIndex(t, set("s", "{selector: {matchLabels: {a: b}}}"))
	for _, bad := range []string{set("s", "{selector: {matchExpressions: [{key: a, operator: Near}]}}"), set("new", "{containers: [{}]}")} {
		if err := index.Upsert(toJSON(t, bad)); err == nil {
			t.Errorf("%s compiles", bad)
		}
	}
	if err := index.Upsert([]byte("{")); err == nil {
		t.Error("half an object compiles")
	}
	golden.Equal(t, "candidates", index.named("ns", map[string]string{"a": "b"}), []string{"s"})
	failures := index.Failures()
	golden.Equal(t, "number of failures", len(failures), 2)
	for name, err := range failures {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the failure of %s is %v", name, err)
		}
	}
	if err := index.Upsert(toJSON(t, set("s", "{selector: {matchLabels: {a: b}}}"))); err != nil {
		t.Fatal(err)
	}
	index.Delete("new")
	golden.Equal(t, "failures once corrected or deleted", len(index.Failures()), 0)
}

// Readers see a SidecarSet in its old or in its new place, never in both and never in none.
func TestIndexMovesAtOnce(t *testing.T) {
	index := newIndex(t, set("s", "{selector: {matchLabels: {a: b}}}"))
	versions := [][]byte{
		toJSON(t, set("s", "{selector: {matchLabels: {a: b}}}")),
		toJSON(t, set("s", "{selector: {matchExpressions: [{key: c, operator: Exists}]}}")),
	}
	var writers sync.WaitGroup
	writers.Go(func() {
		for i := range 300 {
			if err := index.Upsert(versions[i%2]); err != nil {
				t.Error(err)
			}
		}
	})
	for range 300 {
		if found := index.named("ns", map[string]string{"a": "b", "c": "d"}); len(found) != 1 {
			t.Fatalf("candidates are %q", found)
		}
	}
	writers.Wait()
}

// Neither many namespaces times many values, nor many namespaces times many labels, multiply.
func TestAVastSelectorIsFiledInProportionToItsSize(t *testing.T) {
	const many = 2000
	list := func(prefix string) (values []string) {
		for i := range many {
			values = append(values, fmt.Sprintf("%s-%d", prefix, i))
		}
		return values
	}
	namespaces := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "kubernetes.io/metadata.name", Operator: "In", Values: list("ns")},
	}}
	var exist []metav1.LabelSelectorRequirement
	podLabels := map[string]string{}
	for _, key := range list("has") {
		exist = append(exist, metav1.LabelSelectorRequirement{Key: key, Operator: "Exists"})
		podLabels[key] = ""
	}
	for name, c := range map[string]struct {
		selector metav1.LabelSelector
		labels   map[string]string
	}{
		"values": {
			metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "In", Values: list("app")}}},
			map[string]string{"app": "app-1999"},
		},
		"labels": {metav1.LabelSelector{MatchExpressions: exist}, podLabels},
		"nothing but absence": {
			metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "NotIn", Values: list("app")}}},
			map[string]string{"app": "other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			index := NewIndex()
			raw := fmt.Appendf(nil, `{"metadata":{"name":"vast"},"spec":{"namespaceSelector":%s,"selector":%s}}`,
				golden.Encode(t, namespaces), golden.Encode(t, c.selector))
			if err := index.Upsert(raw); err != nil {
				t.Fatal(err)
			}
			if n := len(index.places); n > 2*many {
				t.Errorf("%d places for a selector of %d labels and %d namespaces", n, many, many)
			}
			if got := index.named("ns-1999", c.labels); !slices.Equal(got, []string{"vast"}) {
				t.Errorf("candidates %v for a Pod that it selects", got)
			}
			index.Delete("vast")
			if len(index.places) != 0 {
				t.Errorf("%d places are left", len(index.places))
			}
		})
	}
}
