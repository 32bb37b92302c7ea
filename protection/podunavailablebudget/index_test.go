package podunavailablebudget

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
)

func selecting(name string, selector *metav1.LabelSelector) *Budget {
	return &Budget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: policyv1beta1.PodUnavailableBudgetSpec{Selector: selector}}
}

func targeting(name, apiVersion, kind, target string) *Budget {
	b := selecting(name, nil)
	b.Spec.TargetReference = &policyv1beta1.TargetReference{APIVersion: apiVersion, Kind: kind, Name: target}
	return b
}

// The index finds what a look at every budget finds, whatever came and went before.
func TestTheIndexFindsTheFirstOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		index, all := NewIndex(), map[string]*Budget{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			name := rapid.StringMatching("[a-e]").Draw(t, "name")
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				index.Delete("shop", name)
				delete(all, name)
				continue
			}
			b := rapid.Custom(func(t *rapid.T) *Budget { return anyBudget(t, name) }).Draw(t, "budget")
			if err := index.Put(b); err != nil {
				t.Fatal(err)
			}
			all[name] = b
		}
		labels := rapid.MapOf(rapid.SampledFrom([]string{"app", "tier"}), rapid.SampledFrom([]string{"x", "y"})).Draw(t, "labels")
		owner := WorkloadOf("apps/v1", "Deployment", rapid.StringMatching("[xy]").Draw(t, "owner"))
		want := ""
		for name, b := range all {
			if Matches(b, labels, owner) && (want == "" || name < want) {
				want = name
			}
		}
		if got := index.Match("shop", labels, owner); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := index.Match("elsewhere", labels, owner); got != "" {
			t.Errorf("%q of another namespace", got)
		}
	})
}

func anyBudget(t *rapid.T, name string) *Budget {
	value := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "value")
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return targeting(name, "apps/v1beta1", "Deployment", value)
	case 1:
		return selecting(name, &metav1.LabelSelector{})
	case 2:
		return selecting(name, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}})
	case 3:
		return selecting(name, &metav1.LabelSelector{MatchLabels: map[string]string{"app": value, "tier": "x"}})
	default:
		return selecting(name, matching("tier", value))
	}
}

type replicaSets struct {
	raw   jsontext.Value
	err   error
	asked *int
}

func (r replicaSets) ReplicaSet(context.Context, string, string) (jsontext.Value, error) {
	*r.asked++
	return r.raw, r.err
}

// pod-admission.md §2.5.
func TestNewPodsAreToldTheirBudget(t *testing.T) {
	index := NewIndex()
	for _, b := range []*Budget{selecting("by-label", matching("app", "web")), targeting("of-api", "apps/v1", "Deployment", "api"), targeting("of-set", "apps.kruise.io/v1alpha1", "CloneSet", "set")} {
		if err := index.Put(b); err != nil {
			t.Fatal(err)
		}
	}
	const owner = `"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"controller":true}]`
	set := jsontext.Value(`{"metadata":{` + fmt.Sprintf(owner, "apps/v1", "Deployment", "api") + `}}`)
	for name, tt := range map[string]struct {
		metadata string
		live     replicaSets
		asked    int
		want     string
	}{
		"by a label":               {`"labels":{"app":"web"}`, replicaSets{}, 0, "by-label"},
		"none":                     {`"labels":{"app":"db"}`, replicaSets{}, 0, ""},
		"by its workload":          {fmt.Sprintf(owner, "apps.kruise.io/v1beta1", "CloneSet", "set"), replicaSets{}, 0, "of-set"},
		"of another group":         {fmt.Sprintf(owner, "example.com/v1", "CloneSet", "set"), replicaSets{}, 0, ""},
		"by its Deployment":        {fmt.Sprintf(owner, "apps/v1", "ReplicaSet", "api-5d4"), replicaSets{raw: set}, 1, "of-api"},
		"a name like it":           {fmt.Sprintf(owner, "apps/v1", "ReplicaSet", "api-5d4"), replicaSets{raw: jsontext.Value("{}")}, 1, ""},
		"gone":                     {fmt.Sprintf(owner, "apps/v1", "ReplicaSet", "api-5d4"), replicaSets{}, 1, ""},
		"unreadable, by its label": {`"labels":{"app":"web"},` + fmt.Sprintf(owner, "apps/v1", "ReplicaSet", "api-5d4"), replicaSets{err: errors.New("away")}, 1, "by-label"},
		"no need to ask":           {fmt.Sprintf(owner, "apps/v1", "ReplicaSet", "other-5d4"), replicaSets{raw: set}, 0, ""},
	} {
		asked := 0
		tt.live.asked = &asked
		pod, err := podview.Parse(jsontext.Value(`{"metadata":{`+tt.metadata+`}}`), "shop")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewMutator(index, tt.live, logr.Discard()).MutatePod(t.Context(), nil, pod); err != nil {
			t.Fatal(err)
		}
		var want map[string]string
		if tt.want != "" {
			want = map[string]string{"pub.kruise.io/related-pub": tt.want, "kruise.io/related-pub": tt.want}
		}
		if diff := cmp.Diff(want, pod.Annotations); diff != "" || asked != tt.asked {
			t.Errorf("%s: asked %d times, %s", name, asked, diff)
		}
	}
}
