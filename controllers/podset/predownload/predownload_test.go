package predownload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

func template(images ...string) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "x"}},
		Spec:       corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "login"}}},
	}
	for i, image := range images {
		t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: string(rune('a' + i)), Image: image})
	}
	return t
}

// input is a rollout of one new image in steps.
func input(edits ...func(*Input)) Input {
	in := Input{
		Owner: &metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"}, Kind: v1beta1.GroupVersion.WithKind("CloneSet"),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: template("a:2", "b:1"), Old: []*corev1.PodTemplateSpec{template("a:1", "b:1")},
		Update:   &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-bcd", Labels: map[string]string{}}},
		Replicas: 4, MaxUnavailable: 1, InPlace: true,
	}
	for _, e := range edits {
		e(&in)
	}
	return in
}

func marked(key string) func(*Input) { return func(in *Input) { in.Update.Labels[key] = "true" } }

func TestDecide(t *testing.T) {
	const created, ignored = "apps.kruise.io/pre-predownload-created", "apps.kruise.io/image-predownload-ignored"
	for name, tt := range map[string]struct {
		in   Input
		mark string
		jobs []string
	}{
		"steps":               {input(), created, []string{"web-bcd-a"}},
		"a container is new":  {input(func(in *Input) { in.Template = template("a:1", "b:1", "c:1") }), created, []string{"web-bcd-c"}},
		"three replicas":      {input(func(in *Input) { in.Replicas = 3 }), ignored, nil},
		"all at once":         {input(func(in *Input) { in.MaxUnavailable = 4 }), ignored, nil},
		"all but a partition": {input(func(in *Input) { in.MaxUnavailable, in.Partition = 4, 1 }), created, []string{"web-bcd-a"}},
		"recreating":          {input(func(in *Input) { in.InPlace = false }), ignored, nil},
		"created before":      {input(marked(created)), "", nil},
		"ignored before":      {input(marked(ignored)), "", nil},
		"too few ready":       {input(func(in *Input) { in.Tuning.MinUpdatedReady, in.UpdatedReady = 2, 1 }), "", nil},
		"enough ready":        {input(func(in *Input) { in.Tuning.MinUpdatedReady, in.UpdatedReady = 2, 2 }), created, []string{"web-bcd-a"}},
	} {
		got := Decide(tt.in)
		var names []string
		for _, job := range got.Create {
			names = append(names, job.Name)
		}
		if diff := cmp.Diff(tt.jobs, names); diff != "" || got.Mark != tt.mark || got.Delete != nil {
			t.Errorf("%s: mark %q, %s", name, got.Mark, diff)
		}
	}
	jobs := []*v1beta1.ImagePullJob{{}}
	if diff := cmp.Diff(Plan{Delete: jobs}, Decide(input(func(in *Input) { in.Done, in.Jobs = true, jobs }))); diff != "" {
		t.Errorf("when it is done: %s", diff)
	}
}

func TestAJob(t *testing.T) {
	in := input(func(in *Input) {
		in.Tuning = Tuning{Parallelism: ptr.To(intstr.FromString("10%")), TimeoutSeconds: ptr.To[int32](60)}
	})
	got, err := json.Marshal(Decide(in).Create[0].Spec)
	want := `{"image":"a:2","pullSecrets":["login"],"podSelector":{"matchLabels":{"app":"web"},"matchExpressions":[` +
		`{"key":"controller-revision-hash","operator":"NotIn","values":["web-bcd","bcd"]}]},"parallelism":"10%",` +
		`"pullPolicy":{"timeoutSeconds":60,"backoffLimit":1},"completionPolicy":{"type":"Always","ttlSecondsAfterFinished":600},` +
		`"sandboxConfig":{"labels":{"app":"web","controller.kubernetes.io/hash":"bcd"},"annotations":{"note":"x"}}}`
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	job := Decide(input()).Create[0]
	if job.Spec.Parallelism.String() != "1" || *job.Spec.PullPolicy.TimeoutSeconds != 300 || !metav1.IsControlledBy(job, in.Owner) || job.Labels["app"] != "web" {
		t.Errorf("by default the job is %+v", job)
	}
	long := Decide(input(func(in *Input) { in.Update.Name = strings.Repeat("x", 60) + "-bcd" })).Create[0]
	if _, err := metav1.LabelSelectorAsSelector(long.Spec.PodSelector); err != nil {
		t.Errorf("a long name: %v", err)
	}
	if diff := cmp.Diff(input().Selector, in.Selector); diff != "" {
		t.Errorf("the workload's selector was changed: %s", diff)
	}
}

func TestTuning(t *testing.T) {
	annotations := func(parallelism, timeout, ready string) map[string]string {
		return map[string]string{
			"apps.kruise.io/image-predownload-parallelism": parallelism, "apps.kruise.io/image-predownload-timeout-seconds": timeout,
			"apps.kruise.io/image-predownload-min-updated-ready-pods": ready,
		}
	}
	fields := &v1beta1.InPlaceUpdateStrategy{
		ImagePreDownloadParallelism: ptr.To(intstr.FromInt32(7)), ImagePreDownloadTimeoutSeconds: ptr.To[int32](8), ImagePreDownloadMinUpdatedReadyPods: ptr.To[int32](9),
	}
	five, percent := intstr.FromInt32(5), intstr.FromString("50%")
	for name, tt := range map[string]struct {
		fields      *v1beta1.InPlaceUpdateStrategy
		annotations map[string]string
		want        Tuning
	}{
		"nothing":     {nil, nil, Tuning{}},
		"annotations": {nil, annotations("5", "30", "2"), Tuning{&five, ptr.To[int32](30), 2}},
		"percentages": {&v1beta1.InPlaceUpdateStrategy{}, annotations("50%", "", "25%"), Tuning{&percent, nil, 3}},
		"fields win":  {fields, annotations("5", "30", "2"), Tuning{ptr.To(intstr.FromInt32(7)), ptr.To[int32](8), 9}},
		"garbage":     {nil, annotations("many", "1m", "some"), Tuning{}},
	} {
		if diff := cmp.Diff(tt.want, TuningOf(tt.fields, tt.annotations, 10)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
