package inplace

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/controllers/podset/patched"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

var now = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

var everything = Options{EnvFromMetadata: true, Resources: true}

func amounts(cpu string) corev1.ResourceList {
	return corev1.ResourceList{"cpu": resource.MustParse(cpu)}
}

// template has two containers; app's env is made of the label version and the annotation note.
func template(edits ...func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a", "version": "1"}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init", Image: "init:1"}},
			Containers: []corev1.Container{
				{Name: "app", Image: "app:1", Env: []corev1.EnvVar{env("VERSION", "metadata.labels['version']"), env("NOTE", "metadata.annotations['example.com/note']")}},
				{Name: "side", Image: "side:1", Resources: corev1.ResourceRequirements{Requests: amounts("1")}},
			},
		},
	}
	for _, e := range edits {
		e(t)
	}
	return t
}

func env(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func dataOf(t testing.TB, template *corev1.PodTemplateSpec) []byte {
	t.Helper()
	data, err := revision.Data(template)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// running is a Pod of the template whose containers run what it says.
func running(t *corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: *t.Spec.DeepCopy()}
	pod.Name, pod.UID, pod.ResourceVersion = "p", "u", "5"
	pod.Labels["controller-revision-hash"] = "set-old"
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Ready: true, ContainerID: "c://" + c.Name, Image: "docker.io/library/" + c.Image, ImageID: "id-of-" + c.Image,
		})
	}
	return pod
}

// kubelet runs one container as the spec says.
func kubelet(pod *corev1.Pod, names ...string) *corev1.Pod {
	for i := range pod.Spec.Containers {
		for _, name := range names {
			if c := &pod.Spec.Containers[i]; c.Name == name {
				status := statusOf(pod, name)
				status.Image, status.ImageID = "docker.io/library/"+c.Image, "id-of-"+c.Image
				status.Resources = c.Resources.DeepCopy()
			}
		}
	}
	return pod
}

func begin(t testing.TB, pod *corev1.Pod, c *Change, grace int32) *corev1.Pod {
	t.Helper()
	write, err := Begin(pod, c, "set-new", grace, now, Server{})
	if err != nil {
		t.Fatal(err)
	}
	write.Patch.Label("controller-revision-hash", "set-new")
	return patched.Pod(t, pod, write.Patch)
}

func refresh(t testing.TB, pod *corev1.Pod, at time.Time) Refreshed {
	t.Helper()
	r, err := Refresh(pod, ProgressOf(pod), at, Server{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
