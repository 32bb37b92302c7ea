package cloneset

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestACacheThatNeverShowsIsCountedAndPassedBy has a cache that waits for a write until the sync has no time left.
func TestACacheThatNeverShowsIsCountedAndPassedBy(t *testing.T) {
	registry := prometheus.NewRegistry()
	leaks, err := registerLeaks(registry)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := registerLeaks(registry); err != nil || again != leaks {
		t.Errorf("registered again it is %v, %v", again, err)
	}
	w := newWorld(t)
	w.settle()
	w.reconciler.leaked = func(namespace, name string) { leaks.WithLabelValues(namespace, name).Inc() }
	w.reconciler.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, types.NamespacedName, client.Object, ...client.GetOption) error {
			return context.DeadlineExceeded
		},
	})
	if _, err := w.reconcile(); err == nil {
		t.Error("a sync that could not read is no error")
	}
	var counted dto.Metric
	if err := leaks.WithLabelValues("ns", "web").Write(&counted); err != nil || counted.GetCounter().GetValue() != 1 {
		t.Errorf("the counter is %v (%v)", counted.GetCounter(), err)
	}
	if _, err := w.reconcile(); err != nil {
		t.Errorf("the next sync does not read at the API server: %v", err)
	}
}
