package sources

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

// Who writes statuses, or answers what is in force, does not wait for a set that takes long to compile.
func TestStatesAreThereWhileASetIsCompiled(t *testing.T) {
	r := newRig(t)
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
	begun, end := make(chan struct{}), make(chan struct{})
	r.compile = func(ctx context.Context, found Found) (*userpolicy.Set, error) {
		close(begun)
		<-end
		return compile(ctx, found)
	}
	loaded := make(chan error)
	go func() {
		loaded <- r.Load(t.Context(), Found{Name: "q", Files: map[string]string{"a.rego": rules(`deny contains "two"`)}, Hash: "1"})
	}()
	<-begun
	looked := make(chan int)
	go func() { looked <- len(r.States()) }()
	select {
	case <-looked:
	case <-time.After(10 * time.Second):
		t.Error("states wait for a set that is compiled")
	}
	close(end)
	if err := <-loaded; err != nil || r.Sets.Get("q") == nil {
		t.Errorf("%v, in force is %v", err, r.Sets.Get("q"))
	}
}

// An inventory that cannot be read is a set that fails, also when it could be read before.
func TestMetricsOfAnInventoryThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		lacking := &inventories{}
		k := NewKeeper(Options{Sets: &userpolicy.Sets{}, Inventories: lacking, Metrics: userpolicy.NewMetrics(registry), Log: logr.Discard()})
		ctx, cancel := context.WithCancel(t.Context())
		go k.Run(ctx, clock.RealClock{})
		if err := k.Load(t.Context(), Found{Name: "p", Files: map[string]string{"a.rego": rules(`deny contains "one"`)}, Hash: "1"}); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			waiting bool
			missing error
			want    float64
		}{{false, nil, 0}, {true, errors.New("it is on its way"), 0}, {false, errors.New("forbidden"), 1}, {false, nil, 0}} {
			k.mu.Lock()
			lacking.waiting, lacking.missing = step.waiting, step.missing
			k.mu.Unlock()
			time.Sleep(2 * look)
			synctest.Wait()
			if got := gauge(t, registry, "fairlead_policy_set_failing"); got != step.want {
				t.Errorf("%+v: the metric is %v", step, got)
			}
		}
		cancel()
	})
}

func gauge(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

// Who downloads a bundle keeps what is in it, and it may be large.
func TestWhatABundleHasIsNotKeptTwice(t *testing.T) {
	r := newRig(t)
	found := Found{
		Name: "bundle/org", Files: map[string]string{"a.rego": rules(`deny contains "one"`)}, Data: map[string]any{"list": []any{"x"}}, Hash: "1",
	}
	if err := r.Load(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if of := r.States()[0].InForce; of.Hash != "1" || of.Files != nil || of.Data != nil {
		t.Errorf("%+v", of)
	}
}
