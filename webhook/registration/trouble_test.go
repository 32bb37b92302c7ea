package registration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/webhook/table"
)

func TestWhatGoesOnFailingIsToldOnceAReason(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var told []string
	troubles := newTroubles(func(what string, err error) { told = append(told, what+": "+err.Error()) }, func() time.Time { return now })
	forbidden, away := errors.New("forbidden"), errors.New("away")
	for _, step := range []struct {
		after time.Duration
		err   error
		want  []string
	}{
		{0, forbidden, nil},
		{29 * time.Second, forbidden, nil},
		{time.Second, forbidden, []string{"conversion: forbidden"}},
		{time.Hour, forbidden, nil},
		{time.Second, away, []string{"conversion: away"}},
		{time.Second, nil, nil},
		{time.Second, away, nil},
		{time.Minute, away, []string{"conversion: away"}},
	} {
		now, told = now.Add(step.after), nil
		troubles.note("conversion", step.err)
		if diff := cmp.Diff(step.want, told); diff != "" {
			t.Errorf("%s later, %v: %s", step.after, step.err, diff)
		}
	}
}

// secretive has no definition, and one that may not be read.
type secretive struct {
	apiextensions.CustomResourceDefinitionInterface
	unreadable string
}

func (s secretive) Get(_ context.Context, name string, _ metav1.GetOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	resource := schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	if name == s.unreadable {
		return nil, apierrors.NewForbidden(resource, name, errors.New("no"))
	}
	return nil, apierrors.NewNotFound(resource, name)
}

// TestAnUnreadableDefinitionIsSeen has one that may not be read, and one that is not installed, which is no fault.
func TestAnUnreadableDefinitionIsSeen(t *testing.T) {
	const unreadable, absent = "clonesets.apps.kruise.io", "workloadspreads.apps.kruise.io"
	registry := prometheus.NewRegistry()
	r := newRegistrar(t, registry)
	r.definitions = newDefinitions(r, Conversion{
		Client: secretive{unreadable: unreadable}, Service: "kruise-conversion", Path: "/convert", Definitions: []string{unreadable, absent},
	})
	r.metrics.registered.WithLabelValues(absent).Set(1) // it was there
	if _, err := r.definitions.register(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("error %v", err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	measured := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			measured[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
	}
	if diff := cmp.Diff(map[string]float64{unreadable: 0}, measured); diff != "" {
		t.Errorf("what is registered: %s", diff)
	}
}

func newRegistrar(t *testing.T, registry prometheus.Registerer) *Registrar {
	t.Helper()
	certificates, err := certs.SelfSigned([]string{"localhost"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := table.Config{}.Complete(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{
		Client: fake.NewClientset(), Config: config, Certificates: certificates, Identity: "a", Clock: clock.RealClock{}, Registerer: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
