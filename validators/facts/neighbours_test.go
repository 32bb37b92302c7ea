package facts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/neighbours"
)

// namespace is the API server with the objects of one namespace, of which some have not reached the watch yet, or left it.
type namespace struct {
	objects map[string]string // by resource and name
	index   *neighbours.Index
	looks   int
}

func newNamespace() *namespace {
	return &namespace{objects: map[string]string{}, index: neighbours.NewIndex(clock.RealClock{})}
}

func (n *namespace) sources() facts.Sources { return facts.Sources{Objects: n, Neighbours: n.index} }

// create stores an object; the watch shows it later.
func (n *namespace) create(resource, name, spec string) jsontext.Value {
	raw := fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"annotations":{"note":%q}},"spec":%s}`, name, strings.Repeat("x", 200), spec)
	n.objects[resource+"/"+name] = raw
	return jsontext.Value(raw)
}

func (n *namespace) show(t testing.TB, resource, name, spec string) {
	t.Helper()
	if err := n.index.Sink(resource).Upsert(n.create(resource, name, spec)); err != nil {
		t.Fatal(err)
	}
}

func (n *namespace) Object(_ context.Context, resource schema.GroupVersionResource, _, name string) (jsontext.Value, bool, error) {
	n.looks++
	raw, found := n.objects[resource.Resource+"/"+name]
	return jsontext.Value(raw), found, nil
}

func (n *namespace) Objects(_ context.Context, resource schema.GroupVersionResource, _ string) (all []jsontext.Value, err error) {
	for key, raw := range n.objects {
		n.looks++
		if strings.HasPrefix(key, resource.Resource+"/") {
			all = append(all, jsontext.Value(raw))
		}
	}
	return all, nil
}

func deployment(name string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","name":%q}`, name)
}

func targeting(name string) string { return `{"targetRef":` + deployment(name) + `}` }

func selecting(app string) string { return fmt.Sprintf(`{"selector":{"matchLabels":{"app":%q}}}`, app) }

func (n *namespace) sameTarget(t *testing.T, name, target string) string {
	t.Helper()
	return call(t, n.sources(), "fairlead.same_target", `"workloadspreads"`, `"shop"`, fmt.Sprintf("%q", name), deployment(target))
}

func TestWhoHasTheTarget(t *testing.T) {
	const spreads = "workloadspreads"
	n := newNamespace()
	n.show(t, spreads, "a", targeting("web"))
	n.show(t, spreads, "b", targeting("db"))
	for _, step := range []struct {
		what         string
		change       func()
		name, target string
		want         string
	}{
		{"one of the watch", func() {}, "new", "web", `["a"]`},
		{"itself", func() {}, "a", "web", `[]`},
		{"deleted a moment ago", func() { delete(n.objects, "workloadspreads/a") }, "new", "web", `[]`},
		{"admitted a moment ago, and stored", func() { n.create(spreads, "new", targeting("web")) }, "newer", "web", `["new"]`},
		{"changed a moment ago", func() { n.create(spreads, "b", targeting("api")) }, "other", "db", `[]`},
		{"being deleted", func() {
			n.objects["workloadspreads/new"] = `{"metadata":{"name":"new","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":` + targeting("web") + `}`
		}, "newest", "web", `[]`},
		{"admitted, and refused by another rule", func() {}, "again", "web", `[]`},
	} {
		step.change()
		if got := n.sameTarget(t, step.name, step.target); got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
	}
}

// TestWithoutAWatch lists.
func TestWithoutAWatch(t *testing.T) {
	n := newNamespace()
	n.create("workloadspreads", "b", targeting("web"))
	n.create("workloadspreads", "a", targeting("web"))
	n.create("workloadspreads", "c", targeting("db"))
	n.objects["workloadspreads/d"] = `{"metadata":{"name":"d","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":` + targeting("web") + `}`
	n.objects["workloadspreads/e"] = `{"metadata":{"name":"e"},"spec":{"targetRef":1}}`
	got := call(t, facts.Sources{Objects: n}, "fairlead.same_target", `"workloadspreads"`, `"shop"`, `"b"`, deployment("web"))
	if got != `["a"]` {
		t.Errorf("%s, want a", got)
	}
}

// TestManyCandidatesAreNotAllLookedAt is about a program that tries again and again under new names.
func TestManyCandidatesAreNotAllLookedAt(t *testing.T) {
	n := newNamespace()
	for i := range 100 {
		n.sameTarget(t, fmt.Sprint("try", i), "web")
	}
	if n.looks > 100*10 {
		t.Errorf("%d looks for 100 objects that were never stored", n.looks)
	}
	n.show(t, "workloadspreads", "a", targeting("web"))
	n.looks = 0
	for i := range 100 {
		if got := n.sameTarget(t, fmt.Sprint("another", i), "web"); got != `["a"]` {
			t.Fatal(got)
		}
	}
	if n.looks != 100 {
		t.Errorf("%d looks for 100 objects that one is in the way of", n.looks)
	}
}

// TestNeighboursThatDoNotCompeteCostNothing measures one comparison among 10 objects and among 5,000.
func TestNeighboursThatDoNotCompeteCostNothing(t *testing.T) {
	type cost struct {
		looks  int
		allocs float64
	}
	compare := func(resource string, spec func(string) string, builtin string, args func(i int) []string) (few, many cost) {
		n := newNamespace()
		added := 0
		measure := func(total int) (c cost) {
			for ; added < total; added++ {
				n.show(t, resource, fmt.Sprint("s", added), spec(fmt.Sprint("w", added)))
			}
			n.looks = 0
			i := 0
			terms := make([][]*ast.Term, 101)
			for i := range terms {
				for _, arg := range args(total + i) {
					terms[i] = append(terms[i], ast.MustParseTerm(arg))
				}
			}
			c.allocs = testing.AllocsPerRun(len(terms)-1, func() {
				if got := callWith(t, n.sources(), builtin, terms[i]); got != "[]" {
					t.Fatal(got)
				}
				i++
			})
			c.looks = n.looks
			return c
		}
		return measure(10), measure(5000)
	}
	for name, costs := range map[string]func() (few, many cost){
		"targets": func() (few, many cost) {
			return compare("workloadspreads", targeting, "fairlead.same_target", func(i int) []string {
				return []string{`"workloadspreads"`, `"shop"`, fmt.Sprintf(`"new%d"`, i), deployment(fmt.Sprint("fresh", i))}
			})
		},
		"selectors": func() (few, many cost) {
			return compare("podunavailablebudgets", selecting, "fairlead.overlapping_budgets", func(i int) []string {
				return []string{`"shop"`, fmt.Sprintf(`"new%d"`, i), fmt.Sprintf(`{"matchLabels":{"app":"fresh%d"}}`, i)}
			})
		},
	} {
		few, many := costs()
		t.Logf("%s: among 10 %.0f allocations, among 5,000 %.0f", name, few.allocs, many.allocs)
		if few.looks > 0 || many.looks > 0 {
			t.Errorf("%s: %d requests among 10, %d among 5,000; want none", name, few.looks, many.looks)
		}
		if many.allocs > 1.5*few.allocs {
			t.Errorf("%s: %.0f allocations among 10, %.0f among 5,000", name, few.allocs, many.allocs)
		}
	}
}
