package volumeclaim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func template(name, size string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"own": "1", "app": "template"}, Annotations: map[string]string{"a": "b"}},
		Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse(size)}}},
	}
}

func claimVolume(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
}

func TestVolumes(t *testing.T) {
	own := []corev1.Volume{{Name: "logs"}, {Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	got := Volumes(own, []corev1.PersistentVolumeClaim{template("data", "1Gi"), template("more", "1Gi")}, "web-x1y2z")
	want := []corev1.Volume{claimVolume("data", "data-web-x1y2z"), claimVolume("more", "more-web-x1y2z"), {Name: "logs"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNew(t *testing.T) {
	from := template("data", "1Gi")
	owner := metav1.OwnerReference{UID: "u"}
	got := New(&from, "ns", "web-x1y2z", map[string]string{"app": "web", "id": "x1y2z"}, owner)
	want := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "data-web-x1y2z", Labels: map[string]string{"own": "1", "app": "web", "id": "x1y2z"},
			Annotations: map[string]string{"a": "b"}, OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: from.Spec,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got.Labels["own"], got.Annotations["a"] = "2", "2"
	got.Spec.Resources.Requests["storage"] = resource.MustParse("9Gi")
	if diff := cmp.Diff(template("data", "1Gi"), from); diff != "" {
		t.Errorf("the template was changed: %s", diff)
	}
}

func TestHash(t *testing.T) {
	hash := func(templates ...corev1.PersistentVolumeClaim) string {
		t.Helper()
		h, err := Hash(templates)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	one, two := template("a", "1Gi"), template("b", "1Gi")
	labelled := template("a", "1Gi")
	labelled.Labels = nil
	if hash(one, two) != hash(two, one) || hash(one) != hash(labelled) {
		t.Error("order or labels matter")
	}
	if hash(one) == hash(two) || hash(one) == hash(template("a", "2Gi")) || hash(one) == hash(one, two) || hash() != "" {
		t.Error("name, spec or number do not matter")
	}
}

func TestSameHash(t *testing.T) {
	for _, tt := range []struct {
		a, b *string
		want bool
	}{
		{ptr.To("f1"), ptr.To("f1"), true}, {ptr.To("f1"), ptr.To("f2"), false}, {nil, ptr.To("f2"), true}, {ptr.To("f1"), nil, true},
		{ptr.To("12"), ptr.To("f2"), true}, {ptr.To("12"), ptr.To("13"), false}, {ptr.To(""), ptr.To("f1"), false}, {ptr.To("12"), ptr.To(""), false},
	} {
		if got := SameHash(tt.a, tt.b); got != tt.want {
			t.Errorf("%v and %v: %v", ptr.Deref(tt.a, "nil"), ptr.Deref(tt.b, "nil"), got)
		}
	}
}
