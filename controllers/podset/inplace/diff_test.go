package inplace

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

type templateEdit = func(*corev1.PodTemplateSpec)

func image(i int, to string) templateEdit {
	return func(t *corev1.PodTemplateSpec) { t.Spec.Containers[i].Image = to }
}

func version(to string) templateEdit {
	return func(t *corev1.PodTemplateSpec) { t.Labels["version"] = to }
}

func TestWhatQualifies(t *testing.T) {
	quantities := cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
	for name, tt := range map[string]struct {
		edit templateEdit
		want Change
	}{
		"nothing":  {func(*corev1.PodTemplateSpec) {}, Change{}},
		"an image": {image(0, "app:2"), Change{Images: map[string]string{"app": "app:2"}}},
		"all images": {func(t *corev1.PodTemplateSpec) { image(0, "app:2")(t); image(1, "side:2")(t) },
			Change{Images: map[string]string{"app": "app:2", "side": "side:2"}}},
		"a label": {func(t *corev1.PodTemplateSpec) { t.Labels["new"] = "x" },
			Change{Metadata: map[string]any{"labels": map[string]any{"new": "x"}}}},
		"a label less": {func(t *corev1.PodTemplateSpec) { delete(t.Labels, "app") },
			Change{Metadata: map[string]any{"labels": map[string]any{"app": nil}}}},
		"a label that env is made of": {version("2"),
			Change{Env: map[string]Metadata{"app": {Labels: map[string]string{"version": "2"}}}}},
		"such a label less": {func(t *corev1.PodTemplateSpec) { delete(t.Labels, "version") },
			Change{Metadata: map[string]any{"labels": map[string]any{"version": nil}}}},
		"the first annotation of all": {func(t *corev1.PodTemplateSpec) {
			t.Annotations = map[string]string{"example.com/note": "x", "other": "y"}
		},
			Change{Env: map[string]Metadata{"app": {Annotations: map[string]string{"example.com/note": "x"}}}, Metadata: map[string]any{"annotations": map[string]any{"other": "y"}}}},
		"resources": {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].Resources.Requests = amounts("2") },
			Change{Resources: map[string]corev1.ResourceRequirements{"side": {Requests: amounts("2")}}}},
	} {
		got, err := Diff(dataOf(t, template()), dataOf(t, template(tt.edit)), everything)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&tt.want, got, quantities); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatDoesNotQualify(t *testing.T) {
	for want, edit := range map[string]templateEdit{
		"spec.containers[0].env": func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Env = append(t.Spec.Containers[0].Env, corev1.EnvVar{Name: "X", Value: "1"})
		},
		"spec.containers[0].env[0].name": func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Env[0].Name = "X" },
		"spec.containers": func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "third"})
		},
		"spec.containers[0].name":                   func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Name = "renamed" },
		"spec.containers[1].image":                  func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].Image = "" },
		"spec.initContainers[0].image":              func(t *corev1.PodTemplateSpec) { image(0, "app:2")(t); t.Spec.InitContainers[0].Image = "init:2" },
		"spec.containers[1].resources.limits":       func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].Resources.Limits = amounts("2") },
		"spec.containers[1].resources.requests.cpu": func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].Resources.Requests = nil },
		"spec.terminationGracePeriodSeconds":        func(t *corev1.PodTemplateSpec) { t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](3) },
		"spec.volumes":                              func(t *corev1.PodTemplateSpec) { t.Spec.Volumes = []corev1.Volume{{Name: "v"}} },
	} {
		_, err := Diff(dataOf(t, template()), dataOf(t, template(edit)), everything)
		var impossible *NotPossibleError
		if !errors.As(err, &impossible) || !strings.HasPrefix(impossible.Reason, strings.TrimSuffix(want, ".cpu")) {
			t.Errorf("%v, want one on %s", err, want)
		}
	}
}

func TestReorderedContainersDoNotQualify(t *testing.T) {
	swapped := template()
	swapped.Spec.Containers[0], swapped.Spec.Containers[1] = swapped.Spec.Containers[1], swapped.Spec.Containers[0]
	if c, err := Diff(dataOf(t, template()), dataOf(t, swapped), everything); err == nil {
		t.Errorf("swapping containers is %+v", c)
	}
}

func TestGates(t *testing.T) {
	resources := func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].Resources.Requests = amounts("2") }
	if c, err := Diff(dataOf(t, template()), dataOf(t, template(resources)), Options{}); err == nil {
		t.Errorf("without the gate resources are %+v", c)
	}
	c, err := Diff(dataOf(t, template()), dataOf(t, template(version("2"))), Options{})
	if err != nil || c.Env != nil || c.Metadata == nil {
		t.Errorf("without the gate a label of env is %+v (%v)", c, err)
	}
}

func TestQualityOfServiceMustStay(t *testing.T) {
	guaranteed := func(limit string) templateEdit {
		return func(t *corev1.PodTemplateSpec) {
			t.Spec.InitContainers = nil
			for i := range t.Spec.Containers {
				all := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}
				t.Spec.Containers[i].Resources = corev1.ResourceRequirements{Limits: all, Requests: all.DeepCopy()}
			}
			t.Spec.Containers[1].Resources.Limits["cpu"] = resource.MustParse(limit)
		}
	}
	_, err := Diff(dataOf(t, template(guaranteed("1"))), dataOf(t, template(guaranteed("2"))), everything)
	if err == nil || !strings.Contains(err.Error(), "from Guaranteed to Burstable") {
		t.Errorf("a change of class is %v", err)
	}
}

func TestQOSClass(t *testing.T) {
	all := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}
	for want, containers := range map[corev1.PodQOSClass][]corev1.Container{
		corev1.PodQOSBestEffort: {{}, {Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"x/y": resource.MustParse("1")}}}},
		corev1.PodQOSBurstable:  {{Resources: corev1.ResourceRequirements{Limits: all}}, {}},
		corev1.PodQOSGuaranteed: {{Resources: corev1.ResourceRequirements{Limits: all}}, {Resources: corev1.ResourceRequirements{Limits: all, Requests: all}}},
	} {
		if got := qosClass(&corev1.PodSpec{Containers: containers}); got != want {
			t.Errorf("%v is %s, want %s", containers, got, want)
		}
	}
}

// TestAChangeLeadsToTheTemplate checks that a Pod of one template, changed at once, has the metadata and images of the
// other, and keeps what it got elsewhere.
func TestAChangeLeadsToTheTemplate(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		draw := func(label string) *corev1.PodTemplateSpec {
			return template(func(t *corev1.PodTemplateSpec) {
				values := rapid.MapOf(rapid.SampledFrom([]string{"version", "example.com/note", "x", "y"}), rapid.SampledFrom([]string{"", "1", "2"}))
				t.Labels, t.Annotations = values.Draw(r, label+" labels"), values.Draw(r, label+" annotations")
				t.Finalizers = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"f/1", "f/2", "f/3"}), func(s string) string { return s }).Draw(r, label+" finalizers")
				t.Spec.Containers[0].Image = rapid.SampledFrom([]string{"app:1", "app:2"}).Draw(r, label+" image")
			})
		}
		from, to := draw("old"), draw("new")
		c, err := Diff(dataOf(t, from), dataOf(t, to), everything)
		if err != nil {
			r.Fatal(err)
		}
		pod := running(from)
		pod.Labels["from elsewhere"] = "stays"
		pod.Finalizers = append(pod.Finalizers, "elsewhere")
		got := begin(t, pod, c, 0)
		want := running(to)
		want.Labels["from elsewhere"], want.Labels["controller-revision-hash"] = "stays", "set-new"
		delete(got.Annotations, "apps.kruise.io/inplace-update-state")
		if len(got.Annotations) == 0 {
			got.Annotations = want.Annotations
		}
		has := map[string]bool{}
		for _, f := range got.Finalizers {
			has[f] = true
		}
		for _, f := range append(to.Finalizers, "elsewhere") {
			if !has[f] {
				r.Errorf("finalizer %s is missing in %v", f, got.Finalizers)
			}
		}
		if len(got.Finalizers) != len(to.Finalizers)+1 {
			r.Errorf("finalizers are %v, want %v and elsewhere's", got.Finalizers, to.Finalizers)
		}
		if diff := cmp.Diff(want.Labels, got.Labels) + cmp.Diff(want.Spec.Containers[0].Image, got.Spec.Containers[0].Image); diff != "" {
			r.Error(diff)
		}
		if len(want.Annotations) > 0 {
			if diff := cmp.Diff(want.Annotations, got.Annotations); diff != "" {
				r.Error(diff)
			}
		}
	})
}
