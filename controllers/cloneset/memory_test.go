package cloneset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestProgressIsReadOfWhatChanged lets a Pod change, one go and one come between two syncs.
func TestProgressIsReadOfWhatChanged(t *testing.T) {
	v1 := at(t, "web:1", 1)
	known := func(name, version string) *corev1.Pod {
		pod := podAt(v1, name)
		pod.UID, pod.ResourceVersion = types.UID(name), version
		return pod
	}
	m, key := newMemory(), types.NamespacedName{Name: "web"}
	first := m.progress(key, []*corev1.Pod{known("a", "1"), known("b", "1"), known("c", "1")})
	changed := known("b", "2")
	changed.Annotations = map[string]string{"apps.kruise.io/inplace-update-state": "no state"}
	second := m.progress(key, []*corev1.Pod{known("a", "1"), changed, known("d", "1")})
	if len(second) != 3 || second["a"] != first["a"] || second["d"] == nil {
		t.Errorf("a is read again, or c is remembered, or d unknown: %v", second)
	}
	if !first["b"].Complete() || second["b"].Complete() {
		t.Error("what b has become is not read")
	}
	m.forget(key)
	if third := m.progress(key, []*corev1.Pod{known("a", "1")}); third["a"] == first["a"] {
		t.Error("a CloneSet that is gone is remembered")
	}
}

// TestAPlanReadsProgressThatIsNotOfTheVersion gives a plan what was read of an older version of a Pod.
func TestAPlanReadsProgressThatIsNotOfTheVersion(t *testing.T) {
	pod := podAt(at(t, "web:1", 1), "a")
	pod.UID, pod.ResourceVersion = "a", "1"
	s := &snapshot{progress: newMemory().progress(types.NamespacedName{Name: "web"}, []*corev1.Pod{pod})}
	if s.progressOf(pod) != s.progress["a"] {
		t.Error("what is known is read again")
	}
	newer := pod.DeepCopy()
	newer.ResourceVersion = "2"
	newer.Annotations = map[string]string{"apps.kruise.io/inplace-update-state": "no state"}
	if s.progressOf(newer).Complete() {
		t.Error("an older version speaks for a newer one")
	}
}
