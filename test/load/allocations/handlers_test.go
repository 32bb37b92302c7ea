package allocations

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/mutators/containerrecreate"
	"github.com/fairlead-io/fairlead/mutators/launchpriority"
	"github.com/fairlead-io/fairlead/mutators/readinessgate"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
	"github.com/fairlead-io/fairlead/protection/deletion"
	"github.com/fairlead-io/fairlead/test/load/reviews"
	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/overlap"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/conversion"
	"github.com/fairlead-io/fairlead/webhook/objects"
	"github.com/fairlead-io/fairlead/webhook/review"
)

// answerer does all that is done about a body but for HTTP.
type answerer func(t testing.TB, body []byte)

// admitting decodes reviews, has them judged and encodes the answers.
func admitting(handler admission.Handler) answerer {
	var out []byte
	return func(t testing.TB, body []byte) {
		decoded, err := review.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		response := handler.Handle(t.Context(), decoded.Request)
		if response.Fault != 0 || !response.Allowed && response.Status.Code != http.StatusForbidden {
			t.Fatal(response.Status)
		}
		out = review.Append(out[:0], decoded.APIVersion, decoded.UID(), response)
	}
}

// podsBeside are Pods beside so many SidecarSets.
func podsBeside(n int) func(testing.TB) answerer {
	return func(t testing.TB) answerer {
		index := sidecarset.NewIndex()
		for _, set := range reviews.SidecarSets(n) {
			if err := index.Upsert(set); err != nil {
				t.Fatal(err)
			}
		}
		namespaces := objects.NewNamespaces(nil, clock.RealClock{})
		return admitting(mutators.PodChain{
			readinessgate.New(true),
			sidecarset.NewMutator(index, namespaces, time.Now, sidecarset.Options{}),
			launchpriority.New(rand.String), //nolint:forbidigo // a name as the service would make it
		})
	}
}

func deletions(testing.TB) answerer {
	return admitting(deletion.New(deletion.Options{Denied: func(deletion.Denial) {}}))
}

// pod is a cluster of one Pod and its node.
type pod struct{ raw jsontext.Value }

func (p pod) Pod(context.Context, string, string) (jsontext.Value, error) { return p.raw, nil }

func (pod) NodeLabels(context.Context, string) (map[string]string, error) {
	return map[string]string{"kubernetes.io/hostname": "n1"}, nil
}

func captures(testing.TB) answerer {
	return admitting(containerrecreate.New(pod{reviews.RunningPod()}, true))
}

// rulesBeside judges objects of a kind beside so many SidecarSets.
func rulesBeside(n int, kind string) func(testing.TB) answerer {
	return func(t testing.TB) answerer {
		index := overlap.NewIndex()
		for _, set := range reviews.SidecarSets(n) {
			if err := index.Upsert(jsontext.Value(set)); err != nil {
				t.Fatal(err)
			}
		}
		engine, err := validators.New(t.Context(), validators.Options{
			Builtins:  facts.Builtins(facts.Sources{SidecarSets: index}),
			Inventory: map[string]any{"gates": map[string]any{}},
			Log:       logr.Discard(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return admitting(engine.Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: kind}))
	}
}

// conversions has the parts of HTTP that a conversion cannot do without, made before.
func conversions(t testing.TB) answerer {
	metrics, err := conversion.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	handler := conversion.New(conversion.Options{Metrics: metrics, Log: logr.Discard()})
	request, err := http.NewRequest(http.MethodPost, conversion.Path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	reader, sink := &bytes.Reader{}, &sink{header: make(http.Header)}
	request.Body = io.NopCloser(reader)
	return func(t testing.TB, body []byte) {
		reader.Reset(body)
		request.ContentLength = int64(len(body))
		if handler.ServeHTTP(sink, request); sink.status != http.StatusOK {
			t.Fatalf("answered %d", sink.status)
		}
	}
}

// sink is a ResponseWriter that keeps the status only.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header            { return s.header }
func (s *sink) WriteHeader(status int)         { s.status = status }
func (s *sink) Write(part []byte) (int, error) { return len(part), nil }
