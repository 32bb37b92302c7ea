package apiserver

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newServer(t *testing.T) (*Server, *corev1.Pod) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := New(scheme, clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), nil)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Labels: map[string]string{"x": "1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "i:1"}}},
	}
	if err := s.Create(pod); err != nil {
		t.Fatal(err)
	}
	return s, pod
}

// TestPatches are answered as a real API server answers them.
func TestPatches(t *testing.T) {
	none := func(error) bool { return false }
	for name, tt := range map[string]struct {
		subresource, patch string
		refused            func(error) bool
		writes             int
	}{
		"labels":                      {"", `{"metadata":{"labels":{"x":"2"}}}`, none, 1},
		"what is so already":          {"", `{"metadata":{"labels":{"x":"1"}}}`, none, 0},
		"an image":                    {"", `{"spec":{"containers":[{"name":"main","image":"i:2"}]}}`, none, 1},
		"another field of a Pod":      {"", `{"spec":{"hostname":"h"}}`, apierrors.IsInvalid, 0},
		"a status, past the status":   {"", `{"status":{"phase":"Failed"}}`, none, 0},
		"a status":                    {"status", `{"status":{"phase":"Failed"}}`, none, 1},
		"a spec, through the status":  {"status", `{"spec":{"containers":[{"name":"main","image":"i:2"}]}}`, none, 0},
		"resources, past resize":      {"", `{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"1"}}}]}}`, apierrors.IsInvalid, 0},
		"resources":                   {"resize", `{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"1"}}}]}}`, none, 1},
		"another version":             {"", `{"metadata":{"resourceVersion":"7","labels":{"x":"2"}}}`, apierrors.IsConflict, 0},
		"this version":                {"", `{"metadata":{"resourceVersion":"1","labels":{"x":"2"}}}`, none, 1},
		"another object of this name": {"", `{"metadata":{"uid":"other","labels":{"x":"2"}}}`, apierrors.IsInvalid, 0},
	} {
		s, pod := newServer(t)
		before := s.Version()
		_, err := s.Patch(s.KeyOf(pod), tt.subresource, types.StrategicMergePatchType, []byte(tt.patch))
		if (err != nil) != tt.refused(err) || int(s.Version()-before) != tt.writes {
			t.Errorf("%s: error %v, %d changes, want %d", name, err, s.Version()-before, tt.writes)
		}
	}
}

func TestDeletions(t *testing.T) {
	s, pod := newServer(t)
	key := s.KeyOf(pod)
	if err := s.Delete(key, &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To[types.UID]("other")}}); !apierrors.IsConflict(err) {
		t.Errorf("with the UID of another: %v", err)
	}
	if err := s.Edit(key, func(obj client.Object) {
		obj.(*corev1.Pod).Spec.NodeName = "n"
		obj.SetFinalizers([]string{"test/keep"})
	}); err != nil {
		t.Fatal(err)
	}
	for _, grace := range []*int64{nil, ptr.To[int64](0)} {
		if err := s.Delete(key, &client.DeleteOptions{GracePeriodSeconds: grace}); err != nil {
			t.Fatal(err)
		}
		left, err := s.Get(key)
		if err != nil || left.GetDeletionTimestamp() == nil {
			t.Fatalf("with a finalizer and grace %v: %v, %v", grace, left, err)
		}
	}
	if _, err := s.Patch(key, "", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(key); !apierrors.IsNotFound(err) {
		t.Errorf("after its last finalizer: %v", err)
	}
}

func TestWhatIsCollected(t *testing.T) {
	s, pod := newServer(t)
	child := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", OwnerReferences: []metav1.OwnerReference{{Kind: "Pod", Name: "a", UID: pod.UID}}}}
	if err := s.Create(child); err != nil {
		t.Fatal(err)
	}
	if key, has := s.Orphan(); has {
		t.Errorf("%s is no orphan", key)
	}
	if err := s.Delete(s.KeyOf(pod), &client.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	if err := s.Create(again); err != nil {
		t.Fatal(err)
	}
	if key, has := s.Orphan(); !has || key != s.KeyOf(child) {
		t.Errorf("%s, %v: want the claim of the Pod that was, although another has its name", key, has)
	}
}
