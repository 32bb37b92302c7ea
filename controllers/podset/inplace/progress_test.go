package inplace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestProgressIsOfOneVersion checks that nobody takes what was read of one version of a Pod for what another one says.
func TestProgressIsOfOneVersion(t *testing.T) {
	pod := running(template())
	pod.UID, pod.ResourceVersion = "a", "7"
	progress := ProgressOf(pod)
	for name, tt := range map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"the same":                {func(*corev1.Pod) {}, true},
		"a newer version":         {func(p *corev1.Pod) { p.ResourceVersion = "8" }, false},
		"another Pod of its name": {func(p *corev1.Pod) { p.UID = "b" }, false},
	} {
		other := pod.DeepCopy()
		tt.edit(other)
		if got := progress.IsOf(other); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	pod.ResourceVersion = ""
	if ProgressOf(pod).IsOf(pod) {
		t.Error("it is of a Pod without a version, of which nobody knows which one it is")
	}
	if none := (*Progress)(nil); none.IsOf(pod) {
		t.Error("nothing is of a Pod")
	}
}

// TestRefreshingChangesNoProgress goes on with later batches, and after a grace period, twice from what was read once.
func TestRefreshingChangesNoProgress(t *testing.T) {
	batches := kubelet(begin(t, running(template(prioritized)), images("app", "app:2", "side", "side:2"), 0), "app")
	for name, pod := range map[string]*corev1.Pod{
		"a later batch": batches,
		"after grace":   begin(t, running(template()), images("side", "side:2"), 30),
	} {
		progress := ProgressOf(pod)
		var patches []string
		for range 2 {
			r, err := Refresh(pod, progress, now.Add(time.Minute), Server{})
			if err != nil || r.Patch == nil {
				t.Fatalf("%s: nothing goes on: %v", name, err)
			}
			data, err := r.Patch.Data(pod)
			if err != nil {
				t.Fatal(err)
			}
			patches = append(patches, string(data))
		}
		if diff := cmp.Diff(patches[0], patches[1]); diff != "" {
			t.Errorf("%s: the second time is another: %s", name, diff)
		}
	}
}
