package sidecarset

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/test/golden"
	"github.com/fairlead-io/fairlead/webhook/review"
)

// Packed selectors match the labels that the API's own match.
func TestConditionsAgreeWithSelectors(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "a", "b", "c"})
	key := rapid.SampledFrom([]string{"a", "b", "c"})
	requirement := rapid.Custom(func(t *rapid.T) metav1.LabelSelectorRequirement {
		r := metav1.LabelSelectorRequirement{
			Key:      key.Draw(t, "key"),
			Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}).Draw(t, "operator"),
		}
		if r.Operator == "In" || r.Operator == "NotIn" {
			r.Values = rapid.SliceOfN(word, 1, 3).Draw(t, "values")
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{
			MatchLabels:      rapid.MapOfN(key, word, 0, 2).Draw(t, "matchLabels"),
			MatchExpressions: rapid.SliceOfN(requirement, 0, 3).Draw(t, "matchExpressions"),
		})
		if err != nil {
			t.Fatal(err)
		}
		pod := rapid.MapOf(key, word).Draw(t, "labels")
		if got, want := pack(selector).match(pod), selector.Matches(labels.Set(pod)); got != want {
			t.Fatalf("%s matches %v: %v, want %v", selector, pod, got, want)
		}
	})
}

// What is kept of a SidecarSet compiles to what it compiled to, and has nothing else.
func TestKept(t *testing.T) {
	raw := toJSON(t, `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata:
  name: s
  managedFields: [{manager: m}]
  annotations: {kruise.io/sidecarset-hash: h, kruise.io/sidecarset-hash-without-image: w, other: o}
spec: {selector: {matchLabels: {app: web}}, containers: [{name: a, future: 9007199254740993}]}
status: {latestRevision: s-1, matchedPods: 7}
`)
	_, f, err := file(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := golden.YAML(t, []byte(`
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: s, annotations: {kruise.io/sidecarset-hash: h, kruise.io/sidecarset-hash-without-image: w}}
spec: {selector: {matchLabels: {app: web}}, containers: [{name: a, future: 9007199254740993}]}
status: {latestRevision: s-1}
`))
	golden.Equal(t, "what is kept", golden.Decode(t, []byte(f.document)), want)
}

// More SidecarSets than are kept compiled are injected all the same, however often each one's turn comes.
func TestInjectionOfSidecarSetsNotKeptCompiled(t *testing.T) {
	const sets = maxCompiled + 10
	index := NewIndex()
	for i := range sets {
		if err := index.Upsert(benchSet(fmt.Sprintf("s-%d", i), fmt.Sprintf("app-%d", i), i)); err != nil {
			t.Fatal(err)
		}
	}
	chain := mutators.PodChain{NewMutator(index, namespaceLabels{}, testClock, Options{})}
	for _, i := range []int{0, sets - 1, 1, 0} {
		body := fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE",`+
			`"resource":{"version":"v1","resource":"pods"},"object":{"metadata":{"labels":{"app":"app-%d"}},"spec":{"containers":[{"name":"c"}]}}}}`, i)
		decoded, err := review.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		response := chain.Handle(t.Context(), decoded.Request)
		patched, err := golden.Apply(golden.Decode(t, decoded.Request.Object), golden.Patch(t, response.Patch))
		if err != nil {
			t.Fatal(err)
		}
		got := golden.Each(golden.At(patched, "spec", "containers"), "name")
		if want := []any{fmt.Sprintf("agent-%d", i), "c"}; !slices.Equal(got, want) {
			t.Errorf("the Pod of app-%d has containers %v, want %v", i, got, want)
		}
	}
}
