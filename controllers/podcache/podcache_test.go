package podcache_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/controllers/podcache"
)

func TestTransformKeepsIdentityAndWhatIsAskedFor(t *testing.T) {
	gone := &metav1.Time{}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: "u", ResourceVersion: "7", DeletionTimestamp: gone,
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec:   corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
	}
	before := pod.DeepCopy()
	got, err := podcache.Transform(
		func(kept, pod *corev1.Pod) { kept.Status.Phase = pod.Status.Phase },
		func(kept, pod *corev1.Pod) { kept.Spec.NodeName = pod.Spec.NodeName },
	)(pod)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u", ResourceVersion: "7", DeletionTimestamp: gone},
		Spec:       corev1.PodSpec{NodeName: "n"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the Pod itself was changed: %s", diff)
	}
}

func TestTransformPassesOtherObjects(t *testing.T) {
	tombstone := toolscache.DeletedFinalStateUnknown{Key: "ns/web"}
	got, err := podcache.Transform()(tombstone)
	if err != nil || got != any(tombstone) {
		t.Errorf("got %v, %v", got, err)
	}
}
