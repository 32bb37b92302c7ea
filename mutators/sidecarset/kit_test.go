package sidecarset

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/test/golden"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/server"
)

// testTime is when Pods are created in these tests; annotations write it without the half second and in UTC.
var testTime = time.Date(2026, 11, 29, 19, 37, 42, 500_000_000, time.FixedZone("two hours east", 2*60*60))

const testStamp = "2026-11-29T17:37:42Z"

func testClock() time.Time { return testTime }

// namespaceLabels are the namespaces that exist.
type namespaceLabels map[string]map[string]string

func (n namespaceLabels) Labels(_ context.Context, name string) (map[string]string, bool, error) {
	labels, ok := n[name]
	return labels, ok, nil
}

// unreachable fails the lookup of any namespace.
type unreachable struct{}

func (unreachable) Labels(context.Context, string) (map[string]string, bool, error) {
	return nil, false, errors.New("the API server is away")
}

// newIndex compiles SidecarSets, given as YAML or JSON.
func newIndex(t golden.T, sets ...string) *Index {
	t.Helper()
	index := NewIndex()
	for _, set := range sets {
		if err := index.Upsert(toJSON(t, set)); err != nil {
			t.Fatal(err)
		}
	}
	return index
}

func toJSON(t golden.T, text string) jsontext.Value {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
	return raw
}

// bed is a mutator with what it knows, for tests that call it directly.
type bed struct {
	index      *Index
	namespaces Namespaces
	clock      func() time.Time
	options    Options
}

func newBed(t golden.T, sets ...string) *bed {
	return &bed{index: newIndex(t, sets...), namespaces: namespaceLabels{}, clock: testClock}
}

// admit runs the Pod, given as YAML or JSON, through a chain of the one mutator.
func (b *bed) admit(t golden.T, pod string) admission.Response {
	t.Helper()
	return b.admitRaw(toJSON(t, pod))
}

func (b *bed) admitRaw(pod jsontext.Value) admission.Response {
	req := &admission.Request{UID: "1", Operation: admission.Create, Namespace: "shop", Object: pod}
	req.Resource.Resource = "pods"
	return mutators.PodChain{NewMutator(b.index, b.namespaces, b.clock, b.options)}.Handle(context.Background(), req)
}

// inject is the Pod after an admission that must succeed, and its patch.
func (b *bed) inject(t golden.T, pod any) (any, []golden.Op) {
	t.Helper()
	raw := encode(t, pod)
	response := b.admitRaw(raw)
	if !response.Allowed {
		t.Fatalf("the Pod is refused: %+v", response.Status)
	}
	ops := golden.Patch(t, response.Patch)
	patched, err := golden.Apply(golden.Decode(t, raw), ops)
	if err != nil {
		t.Fatalf("applying the patch: %v\n%s", err, response.Patch)
	}
	return patched, ops
}

// newHandler serves /mutate-pod as a cluster with these objects would.
func newHandler(options Options) golden.Server {
	return func(t *testing.T, objects [][]byte) http.Handler {
		b := bedOf(t, objects)
		options.Revisions = b.options.Revisions
		return serve(t, mutators.PodChain{NewMutator(b.index, b.namespaces, b.clock, options)})
	}
}

// bedOf is a bed that knows the SidecarSets and namespaces among the objects.
func bedOf(t golden.T, objects [][]byte) *bed {
	t.Helper()
	namespaces := namespaceLabels{}
	b := &bed{index: NewIndex(), namespaces: namespaces, clock: testClock}
	b.options.Revisions = NewRevisions("kruise-system", nil, constant(0), clocktesting.NewFakePassiveClock(testTime))
	for _, raw := range objects {
		object := golden.Decode(t, raw)
		switch golden.At(object, "kind") {
		case "SidecarSet":
			must(t, b.index.Upsert(raw))
			continue
		case "ControllerRevision":
			must(t, b.options.Revisions.Upsert(raw))
			continue
		}
		name := golden.At(object, "metadata", "name").(string)
		namespaces[name] = map[string]string{}
		labels, _ := golden.At(object, "metadata", "labels").(map[string]any)
		for key, value := range labels {
			namespaces[name][key] = value.(string)
		}
	}
	return b
}

func must(t golden.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// constant is a source of randomness that always says the same.
func constant(x float64) func() float64 { return func() float64 { return x } }

// serve puts a handler behind the service's own HTTP server.
func serve(t *testing.T, handler admission.Handler) http.Handler {
	t.Helper()
	s, err := server.New(server.Options{
		Routes:    []server.Route{{Path: "/mutate-pod", Webhooks: []string{"mpod.kb.io"}, Handler: handler}},
		Metrics:   server.NewMetrics(prometheus.NewRegistry()),
		AccessLog: slog.New(slog.DiscardHandler),
		Log:       logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}

func encode(t golden.T, value any) jsontext.Value {
	t.Helper()
	if text, ok := value.(string); ok {
		return toJSON(t, text)
	}
	return golden.Encode(t, value)
}

// names are the container names of a list of a decoded Pod.
func names(pod any, list string) []any { return golden.Each(golden.At(pod, "spec", list), "name") }

func annotation(pod any, key string) any { return golden.At(pod, "metadata", "annotations", key) }

// recorder is an Observer that remembers.
type recorder struct {
	sets, containers int
	skipped          map[Reason]int
}

func (r *recorder) Injected(sets, containers int) { r.sets += sets; r.containers += containers }

func (r *recorder) Skipped(reason Reason) {
	if r.skipped == nil {
		r.skipped = map[Reason]int{}
	}
	r.skipped[reason]++
}
