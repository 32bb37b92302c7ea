package cloneset

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPreparingUpdateAsUpdate(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	set := newSet(image("web:2"), replicas(5), limits("3", "5", "0"), func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
	pods := []*corev1.Pod{podAt(v1, "a"), podAt(v1, "b"), podAt(v1, "c", inState("PreparingUpdate")), podAt(v2, "d")}
	for gate, want := range map[bool]string{false: v2.Name, true: v1.Name} {
		seen := &snapshot{revisions: []*appsv1.ControllerRevision{v1, v2}}
		seen.pods.Active = pods
		plan, err := makePlan(set, seen, start, Settings{PreparingUpdateAsUpdate: gate}, func() string { return "x" })
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Scale.Create) != 1 || plan.Scale.Create[0].Pod.Labels["controller-revision-hash"] != want {
			t.Errorf("gate %v: it creates %v, want one at %s", gate, describe(plan), want)
		}
	}
}

func TestPodsWithoutATemplateHashGetIt(t *testing.T) {
	w := newWorld(t, replicas(1))
	w.settle()
	w.editPod("web-id001", func(p *corev1.Pod) { delete(p.Labels, "pod-template-hash") })
	w.settle()
	pod := w.pods()[0]
	if got := pod.Labels["pod-template-hash"]; got == "" || "web-"+got != pod.Labels["controller-revision-hash"] {
		t.Errorf("labels are %v", pod.Labels)
	}
}

func TestTheFullestZoneLosesPodsFirst(t *testing.T) {
	w := newWorld(t, replicas(4), func(s *cloneSet) {
		s.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: "zone"}}
	})
	w.sync()
	for i, zone := range []string{"x", "y", "y", "y"} {
		name := w.live()[i]
		w.must(w.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-of-" + name, Labels: map[string]string{"zone": zone}}}))
		w.editPod(name, func(p *corev1.Pod) { p.Spec.NodeName = "node-of-" + name })
	}
	w.settle()
	only := w.live()[0]
	w.edit(replicas(2), limits("0", "100%", "0"))
	w.settle()
	if got := w.live(); len(got) != 2 || !slices.Contains(got, only) {
		t.Errorf("Pods are %v, want %s, which is alone in its zone, among them", got, only)
	}
}

func TestExcludePreparingDeleteForAll(t *testing.T) {
	w := newWorld(t, preDelete)
	w.reconciler.ExcludePreparingDelete = true
	w.settle()
	w.editPod("web-id001", label("apps.kruise.io/specified-delete", "true"))
	w.settle()
	if n := len(w.live()); n != 4 {
		t.Errorf("%d Pods, want a replacement beside the one that is prepared", n)
	}
}

// TestAtRestNothingIsWritten syncs what has settled again and again.
func TestAtRestNothingIsWritten(t *testing.T) {
	for name, edits := range map[string][]setEdit{
		"plain":        {},
		"in place":     {inPlace},
		"claims":       {claims("1Gi"), reuse},
		"partition":    {inPlace, limits("2", "1", "1"), image("web:2")},
		"paused":       {func(s *cloneSet) { s.Spec.UpdateStrategy.RollingUpdate.Paused = true }, image("web:2")},
		"hooks":        {inPlace, inPlaceHook(true), image("web:2")},
		"no replicas":  {replicas(0)},
		"broken":       {inPlace, image("broken:1")},
		"pre-download": {inPlace, limits("2", "1", "0"), replicas(6), image("web:2")},
	} {
		w := newWorld(t)
		w.reconciler.PreDownload = true
		w.settle()
		w.edit(edits...)
		w.settle()
		writes := len(w.writes)
		for range 3 {
			w.kubelet()
			w.sync()
		}
		if len(w.writes) > writes {
			t.Errorf("%s: at rest it writes %v", name, w.writes[writes:])
		}
	}
}
