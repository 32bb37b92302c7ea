package cloneset

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

func TestScaleOutInAndOut(t *testing.T) {
	w := newWorld(t)
	w.settle()
	if got := w.byImage(); got["web:1"] != 3 {
		t.Fatalf("Pods are %v", got)
	}
	status := w.set().Status
	if status.Replicas != 3 || status.AvailableReplicas != 3 || status.UpdatedAvailableReplicas != 3 || status.ObservedGeneration != 1 ||
		status.CurrentRevision != status.UpdateRevision || status.LabelSelector != "app=web" || status.ExpectedUpdatedReplicas != 3 {
		t.Errorf("the status is %+v", status)
	}
	w.edit(replicas(5))
	w.settle()
	w.edit(replicas(1))
	w.settle()
	if got := w.byImage(); got["web:1"] != 1 {
		t.Errorf("Pods are %v", got)
	}
}

func TestRecreate(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.edit(image("web:2"))
	w.settle()
	if diff := cmp.Diff(map[string]int{"web:2": 3}, maps.Clone(w.byImage())); diff != "" {
		t.Error(diff)
	}
	if n := len(w.revisions()); n != 2 {
		t.Errorf("there are %d revisions", n)
	}
}

// TestOnlyWhatIsHeldIsMarkedToBeRecreated counts what recreating a Pod writes.
func TestOnlyWhatIsHeldIsMarkedToBeRecreated(t *testing.T) {
	hooked := func(s *cloneSet) {
		s.Spec.Template.Labels["hook"] = "on"
		s.Spec.Lifecycle = &v1beta1.Lifecycle{PreDelete: &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}}}
	}
	for name, tt := range map[string]struct {
		edit setEdit
		want []string
	}{
		"free": {func(*cloneSet) {}, []string{"create ControllerRevision", "delete Pod", "status CloneSet"}},
		"held": {hooked, []string{"create ControllerRevision", "patch Pod", "status CloneSet"}},
	} {
		w := newWorld(t, limits("0", "1", "0"), tt.edit)
		w.settle()
		w.writes = nil
		w.edit(image("web:2"))
		w.sync()
		if diff := cmp.Diff(tt.want, w.writes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestInPlaceImage(t *testing.T) {
	w := newWorld(t, inPlace)
	w.settle()
	before := w.pods()
	w.edit(image("web:2"))
	w.settle()
	after := w.pods()
	for i := range before {
		if before[i].UID != after[i].UID || after[i].Spec.Containers[0].Image != "web:2" || after[i].Labels["lifecycle.apps.kruise.io/state"] != "Normal" {
			t.Errorf("%s became %s with %s, %v", before[i].Name, after[i].Name, after[i].Spec.Containers[0].Image, after[i].Labels)
		}
	}
}
