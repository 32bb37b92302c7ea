package validators_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/overlap"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// module makes a set with one rule, which denies when a body holds.
func module(body string) map[string]string {
	return map[string]string{"apps/thing.rego": `# METADATA
# custom:
#   kinds: [Thing]
package fairlead.apps.thing

# METADATA
# title: A rule
# description: A rule for tests.
# custom:
#   id: thing-rule
deny contains {"rule": "thing-rule", "field": "spec", "type": "forbidden", "message": "no"} if {
` + body + "\n}\n"}
}

func engineWith(t *testing.T, registry prometheus.Registerer, builtins ...validators.Builtin) *validators.Engine {
	t.Helper()
	engine, err := validators.New(t.Context(), validators.Options{
		Builtins: append(facts.Builtins(facts.Sources{SidecarSets: overlap.NewIndex()}), builtins...),
		Metrics:  validators.NewMetrics(registry), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

var thing = schema.GroupKind{Group: "apps.kruise.io", Kind: "Thing"}

func create(object string) *admission.Request {
	return &admission.Request{Operation: admission.Create, Name: "x", Object: []byte(object)}
}

func TestLoadSwapsSetsThatCompileOnly(t *testing.T) {
	registry := prometheus.NewRegistry()
	engine := engineWith(t, registry)
	load := func(sources map[string]string) error { return engine.Load(t.Context(), sources) }
	refuses := func() bool {
		return !engine.Handler(thing).Handle(t.Context(), create(`{"spec":{"bad":true}}`)).Allowed
	}
	failing := func(want float64) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == "fairlead_rules_failing" && family.GetMetric()[0].GetGauge().GetValue() == want {
				return
			}
		}
		t.Errorf("fairlead_rules_failing is not %v", want)
	}
	if err := load(module("\tinput.object.spec.bad")); err != nil {
		t.Fatal(err)
	}
	if !refuses() {
		t.Error("the new rule is not in force")
	}
	for name, broken := range map[string]map[string]string{
		"no Rego":              {"apps/thing.rego": "package"},
		"an unknown function":  module("\tfairlead.nothing(1)"),
		"an unsafe variable":   module("\tx == 1"),
		"requests to anywhere": module("\thttp.send({\"url\": \"http://example.com\", \"method\": \"get\"})"),
		"the environment":      module("\topa.runtime().env.HOME"),
		"the network":          module("\tnet.lookup_ip_addr(\"example.com\")"),
		"a code of no refusal": {"apps/thing.rego": strings.Replace(module("\tinput.x")["apps/thing.rego"], "id: thing-rule", "id: thing-rule\n#   code: 500", 1)},
		"no metadata":          {"apps/thing.rego": "package fairlead.apps.thing\n\ndeny contains {} if input.x"},
	} {
		if err := load(broken); err == nil {
			t.Errorf("%s: the set is accepted", name)
		}
		if engine.Failure() == nil || engine.Ready() != nil || !refuses() {
			t.Errorf("%s: failure %v, ready %v, the old rule in force %v", name, engine.Failure(), engine.Ready(), refuses())
		}
		failing(1)
	}
	if err := load(module("\tinput.object.spec.worse")); err != nil {
		t.Fatal(err)
	}
	if engine.Failure() != nil || refuses() {
		t.Errorf("failure %v, the old rule in force %v", engine.Failure(), refuses())
	}
	failing(0)
}

// What ends an evaluation is a fault, never a verdict.
func TestEvaluationsThatEnd(t *testing.T) {
	builtin := func(name string, call func() error) validators.Builtin {
		return validators.Builtin{Name: name, Call: func(context.Context, []*ast.Term) (*ast.Term, error) {
			return ast.BooleanTerm(true), call()
		}}
	}
	engine := engineWith(t, prometheus.NewRegistry(),
		builtin("test.panic", func() error { panic("a mistake") }),
		builtin("test.fail", func() error { return errors.New("nobody can tell") }))
	for body, want := range map[string]struct {
		code    int
		message string
	}{
		"\ttest.panic()": {http.StatusInternalServerError, "calling test.panic: panic: a mistake"},
		"\ttest.fail()":  {http.StatusInternalServerError, "nobody can tell"},
		"\tsome x in numbers.range(1, 3000)\n\tsome y in numbers.range(1, 3000)\n\tsome z in numbers.range(1, 3000)\n\tx * y * z < 0": {
			http.StatusServiceUnavailable, "deadline exceeded",
		},
	} {
		if err := engine.Load(t.Context(), module(body)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		start := time.Now()
		got := engine.Handler(thing).Handle(ctx, create(`{"spec":{}}`))
		cancel()
		if got.Allowed || got.Fault != want.code || !strings.Contains(got.Status.Message, want.message) {
			t.Errorf("%s: %+v %+v", body, got, got.Status)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: took %v", body, took)
		}
	}
}

func TestRequestsThatAreNotJudged(t *testing.T) {
	engine := engineWith(t, prometheus.NewRegistry())
	if err := engine.Load(t.Context(), module("\ttrue")); err != nil {
		t.Fatal(err)
	}
	handler := engine.Handler(thing)
	object := []byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"x":1}}`)
	deleted := []byte(`{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"},"spec":{"x":2}}`)
	touched := []byte(`{"metadata":{"labels":{"a":"b"},"finalizers":["f"]},"spec":{"x":1},"status":{"y":1}}`)
	labelled := []byte(`{"metadata":{"labels":{"a":"c"}},"spec":{"x":1}}`)
	for name, tt := range map[string]struct {
		req  admission.Request
		want bool
	}{
		"a creation":                   {admission.Request{Operation: admission.Create, Object: object}, false},
		"a creation, says it is gone":  {admission.Request{Operation: admission.Create, Object: deleted}, false},
		"a creation with an oldObject": {admission.Request{Operation: admission.Create, Object: object, OldObject: object}, false},
		"an update of the spec":        {admission.Request{Operation: admission.Update, Object: object, OldObject: []byte(`{"metadata":{"labels":{"a":"b"}}}`)}, false},
		"an update of labels":          {admission.Request{Operation: admission.Update, Object: labelled, OldObject: object}, false},
		"an update of something else":  {admission.Request{Operation: admission.Update, Object: touched, OldObject: object}, true},
		"what is being deleted":        {admission.Request{Operation: admission.Update, Object: deleted, OldObject: object}, true},
		"a deletion":                   {admission.Request{Operation: admission.Delete, OldObject: object}, true},
		"the status":                   {admission.Request{Operation: admission.Update, SubResource: "status", Object: object}, true},
	} {
		if got := handler.Handle(t.Context(), &tt.req); got.Allowed != tt.want || got.Fault != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, broken := range []string{"", "[]", "{", `"x"`} {
		req := create(broken)
		if broken == "" {
			req.Object = nil
		}
		if got := handler.Handle(t.Context(), req); got.Allowed || got.Status.Code != http.StatusBadRequest {
			t.Errorf("%q: %+v", broken, got)
		}
	}
}

// However often rules are swapped, and whatever broken sets come between, every request gets the verdict of one whole set.
func TestSwapsUnderLoad(t *testing.T) {
	engine := engineWith(t, prometheus.NewRegistry())
	sets := []map[string]string{module("\tinput.object.spec.bad"), module("\tinput.object.spec.bad == true")}
	if err := engine.Load(t.Context(), sets[0]); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			handler := engine.Handler(thing)
			for ctx.Err() == nil {
				if got := handler.Handle(t.Context(), create(`{"spec":{"bad":true}}`)); got.Allowed || got.Fault != 0 {
					t.Errorf("%+v %+v", got, got.Status)
					return
				}
				if got := handler.Handle(t.Context(), create(`{"spec":{}}`)); !got.Allowed {
					t.Errorf("%+v %+v", got, got.Status)
					return
				}
			}
		})
	}
	for i := range 20 {
		if err := engine.Load(t.Context(), sets[i%2]); err != nil {
			t.Error(err)
		}
		if engine.Load(t.Context(), module("\tbroken(")) == nil {
			t.Error("a broken set is accepted")
		}
	}
	cancel()
	load.Wait()
}

// Without a cluster only our own rules judge; what a cluster would have to be asked counts as right.
func TestWithoutACluster(t *testing.T) {
	engine := engineWith(t, prometheus.NewRegistry())
	handler := engine.Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: "SidecarSet"})
	unknown := `{"apiVersion":"apps.kruise.io/v1beta1","metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"injectionStrategy":{"revision":{"revisionName":"x-1"}},"containers":[{"name":"c","volumeMounts":[{"name":"nowhere","mountPath":"/x"}]}]}}`
	if got := handler.Handle(t.Context(), create(unknown)); !got.Allowed || got.Warnings != nil {
		t.Errorf("%+v %+v", got, got.Status)
	}
	if got := handler.Handle(t.Context(), create(strings.Replace(unknown, `"a":"b"`, "", 1))); got.Allowed || got.Fault != 0 {
		t.Errorf("%+v %+v", got, got.Status)
	}
}

// A refusal says what is wrong of a value, and does not repeat megabytes of it.
func TestLongValuesAreCutShort(t *testing.T) {
	handler := engineWith(t, prometheus.NewRegistry()).Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: "SidecarSet"})
	name := strings.Repeat("é", 100_000)
	got := handler.Handle(t.Context(), create(`{"apiVersion":"apps.kruise.io/v1beta1","metadata":{"name":"`+name+`"},
		"spec":{"selector":{"matchLabels":{"a":"b"}},"containers":[{"name":"c"}]}}`))
	if got.Allowed || len(got.Status.Message) > 1000 || !strings.Contains(got.Status.Message, `é...": must be at most 63 letters`) {
		t.Errorf("%d bytes: %.600s", len(got.Status.Message), got.Status.Message)
	}
}

// Nor does it tell of half a million mistakes, or repeat a whole list for each.
func TestManyMistakesAreCutShort(t *testing.T) {
	handler := engineWith(t, prometheus.NewRegistry()).Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"})
	names := strings.Repeat(`"a",`, 499) + `"a"`
	got := handler.Handle(t.Context(), create(`{"apiVersion":"apps.kruise.io/v1beta1","metadata":{"name":"a"},"spec":{
		"selector":{"matchExpressions":[{"key":"`+strings.Repeat("a", 10_000)+`"}]},"scaleStrategy":{"podsToDelete":[`+names+`]},"template":{"metadata":{"labels":{"a":"b"}}}}}`))
	if got.Allowed || len(got.Status.Details.Causes) != 100 || !strings.HasSuffix(got.Status.Message, " more mistakes]") || len(got.Status.Message) > 40_000 {
		t.Errorf("%d causes, %d bytes: ...%s", len(got.Status.Details.Causes), len(got.Status.Message), got.Status.Message[max(0, len(got.Status.Message)-200):])
	}
}
