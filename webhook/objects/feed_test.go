package objects

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// A replica that was ready without a kind stays ready when the API server goes: it serves from what it knows.
func TestAnOptionalKindThatIsNotThere(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Group: "policy.kruise.io", Resource: "podunavailablebudgets"}, "")
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		optional bool
		failures []error
		ready    bool
	}{
		"not asked yet":              {optional: true},
		"not installed":              {optional: true, failures: []error{missing}, ready: true},
		"not installed, then away":   {optional: true, failures: []error{missing, away}, ready: true},
		"away from the start":        {optional: true, failures: []error{away}},
		"needed, and not installed":  {failures: []error{missing}},
		"needed, missing, then away": {failures: []error{missing, away}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed(Kind{Resource: "podunavailablebudgets", Optional: c.optional}, klog.Background())
			for _, err := range c.failures {
				f.failed(err)
			}
			if err := f.synced(); (err == nil) != c.ready {
				t.Errorf("synced says %v", err)
			}
		})
	}
}
