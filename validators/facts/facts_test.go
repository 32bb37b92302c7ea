package facts_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/dryrun"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/overlap"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// away is an API server that cannot be reached.
type away struct{}

var errAway = errors.New("dial tcp: connection refused " + strings.Repeat("é", 100))

func (away) Problems(context.Context, dryrun.Pod) ([]dryrun.Problem, error) { return nil, errAway }

func (away) SidecarSet(context.Context, string) (canary, found bool, err error) {
	return false, false, errAway
}

func (away) Revision(context.Context, string, string, string) (bool, error) { return false, errAway }

func (away) Configuration(context.Context, string) (string, error) { return "", errAway }

// Without a verdict about the Pod an object passes with a warning; without a fact that a rule needs there is no verdict.
func TestWhileTheAPIServerIsAway(t *testing.T) {
	engine, err := validators.New(t.Context(), validators.Options{
		Builtins: facts.Builtins(facts.Sources{SidecarSets: overlap.NewIndex(), Pods: away{}, Reader: away{}}), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := engine.Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: "SidecarSet"})
	create := func(ctx context.Context, metadata, spec string) admission.Response {
		return handler.Handle(ctx, &admission.Request{Operation: admission.Create, Object: []byte(
			`{"apiVersion":"apps.kruise.io/v1beta1","metadata":{"name":"x"` + metadata + `},"spec":{"selector":{"matchLabels":{"a":"b"}},"containers":[{"name":"c"}]` + spec + `}}`)})
	}
	got := create(t.Context(), "", "")
	if !got.Allowed || len(got.Warnings) != 1 || len(got.Warnings[0]) > 120 || !strings.HasPrefix(got.Warnings[0], "containers and volumes were not validated by the API server: dial tcp") {
		t.Errorf("%+v", got)
	}
	for name, part := range map[string][2]string{
		"base":       {`,"annotations":{"apps.kruise.io/sidecarset-canary":"true","apps.kruise.io/sidecarset-base":"b"}`, `,"updateStrategy":{"type":"NotUpdate"}`},
		"revision":   {"", `,"injectionStrategy":{"revision":{"revisionName":"x-1"}}`},
		"allow-list": {"", `,"patchPodMetadata":[{"annotations":{"a":"b"}}]`},
	} {
		if got := create(t.Context(), part[0], part[1]); got.Allowed || got.Fault != http.StatusInternalServerError || !strings.Contains(got.Status.Message, "connection refused") {
			t.Errorf("%s: %+v %+v", name, got, got.Status)
		}
	}
	// A request without time left has no verdict either, and no warning that blames the API server.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := create(ctx, "", ""); got.Allowed || got.Fault != http.StatusServiceUnavailable {
		t.Errorf("%+v %+v", got, got.Status)
	}
}
