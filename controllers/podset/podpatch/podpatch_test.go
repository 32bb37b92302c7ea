package podpatch

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/controllers/podset/patched"
)

func TestAPatchTouchesWhatItNames(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: "u", ResourceVersion: "7", Labels: map[string]string{"keep": "1", "old": "1", "set": "1"},
			Annotations: map[string]string{"keep": "1", "gone": "1"}, Finalizers: []string{"theirs"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x:1"}, {
			Name: "y", Image: "y:1", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}},
		}}},
	}
	p := New(pod)
	if !p.Empty() {
		t.Error("a new patch is not empty")
	}
	p.Metadata(map[string]any{"labels": map[string]any{"old": nil, "set": "by template"}}).
		Label("set", "2").Annotate("new", "1").RemoveAnnotation("gone").RemoveAnnotation("never there").AddFinalizers("ours", "theirs").
		Image("x", "x:2").Resources("y", corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}})
	want := pod.DeepCopy()
	want.Labels = map[string]string{"keep": "1", "set": "2"}
	want.Annotations = map[string]string{"keep": "1", "new": "1"}
	want.Finalizers = []string{"ours", "theirs"}
	want.Spec.Containers[0].Image = "x:2"
	want.Spec.Containers[1].Resources.Limits["cpu"] = resource.MustParse("2")
	if diff := cmp.Diff(want, patched.Pod(t, pod, p)); diff != "" {
		t.Error(diff)
	}
	if p.Empty() {
		t.Error("a patch with changes is empty")
	}
}

func TestTheGuardNamesTheVersion(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}}
	for want, p := range map[string]*Patch{
		`{"metadata":{"labels":{"a":"b"},"uid":"u"}}`:                       New(pod).Label("a", "b"),
		`{"metadata":{"labels":{"a":"b"},"resourceVersion":"7","uid":"u"}}`: New(pod).Label("a", "b").Guard(pod),
	} {
		if got, err := json.Marshal(p); err != nil || string(got) != want {
			t.Errorf("the patch is %s (%v), want %s", got, err, want)
		}
	}
}

func TestMetadataIsCopied(t *testing.T) {
	shared := map[string]any{"labels": map[string]any{"a": "1"}}
	New(&corev1.Pod{}).Metadata(shared).Label("b", "2")
	if diff := cmp.Diff(map[string]any{"labels": map[string]any{"a": "1"}}, shared); diff != "" {
		t.Error(diff)
	}
}
