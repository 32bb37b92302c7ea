package podunavailablebudget

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestWorkloadsWithoutReplicas are stored as they were written before there were defaults. They want one Pod.
func TestWorkloadsWithoutReplicas(t *testing.T) {
	game := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v2", "kind": "Game", "metadata": map[string]any{"namespace": "shop", "name": "g", "uid": "g"},
		"status": map[string]any{"labelSelector": "app=web"},
	}}
	ending := game.DeepCopy()
	ending.SetDeletionTimestamp(ptr.To(metav1.NewTime(now)))
	ending.SetFinalizers([]string{"a/b"})
	ofGame := targeting("example.com/v2", "Game", "g")
	for name, tt := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"in the cache, targeted": {
			[]client.Object{budget(targeting("apps/v1", "ReplicaSet", "alone"), maxUnavailable("1")), object("ReplicaSet", "alone"), pod("a", owned("apps/v1", "ReplicaSet", "alone"))},
			"1 1 0 1",
		},
		"in the cache, selected": {
			[]client.Object{budget(selecting, minAvailable("100%")), object("ReplicaSet", "alone"), pod("a", owned("apps/v1", "ReplicaSet", "alone"))},
			"0 1 1 1",
		},
		"of any kind":                       {[]client.Object{budget(ofGame, minAvailable("100%")), game, pod("a", owned("example.com/v2", "Game", "g"))}, "0 1 1 1"},
		"of any kind, owning no Pod":        {[]client.Object{budget(ofGame, minAvailable("100%")), game, pod("a")}, "0 1 1 1"},
		"of any kind, ending":               {[]client.Object{budget(ofGame, minAvailable("100%")), ending, pod("a", owned("example.com/v2", "Game", "g"))}, "0 1 1 1"},
		"of any kind, gone in the meantime": {[]client.Object{budget(ofGame, minAvailable("100%")), pod("a", owned("example.com/v2", "Game", "g"))}, "0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tt.objects...)
			w.unsized = map[string]bool{"ReplicaSet/alone": true, "Game/g": true}
			if got := w.status(); got != tt.want {
				t.Errorf("allowed, current, desired, total are %s, want %s", got, tt.want)
			}
		})
	}
}

// TestReplicasThatAreSetLater must not be missed for what is remembered.
func TestReplicasThatAreSetLater(t *testing.T) {
	set := object("ReplicaSet", "alone")
	w := newWorld(t, budget(targeting("apps/v1", "ReplicaSet", "alone"), maxUnavailable("1")), set, pod("a", owned("apps/v1", "ReplicaSet", "alone")))
	w.unsized = map[string]bool{"ReplicaSet/alone": true}
	if got := w.status() + ", " + w.status(); got != "1 1 0 1, 1 1 0 1" || w.asked != 1 {
		t.Errorf("%s, asked %d times; want 1 of 1, asked once", got, w.asked)
	}
	w.unsized, w.scales = nil, map[string]scale{"ReplicaSet/alone": {types.UID("alone"), 2, ""}}
	set.SetGeneration(2)
	if err := w.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if got := w.status(); got != "0 1 1 2" {
		t.Errorf("allowed, current, desired, total are %s, want 0 1 1 2", got)
	}
}
