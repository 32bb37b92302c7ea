package runtimemeta

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestTheReferencesReports reads those of real containers on Kubernetes 1.37.
func TestTheReferencesReports(t *testing.T) {
	seen := 0
	for _, stage := range []string{"1-created", "2-updated"} {
		data, err := os.ReadFile("../testdata/takeover/" + stage + "/pods.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var pods corev1.PodList
		if err := yaml.Unmarshal(data, &pods); err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			report, err := Read(pod)
			if err != nil {
				t.Fatal(err)
			}
			if report == nil || pod.Status.Phase != corev1.PodRunning { // what ended was never asked for its env
				continue
			}
			seen++
			if !report.Consistent(pod, SamePlain) || !report.Consistent(pod, SameEnv(pod)) {
				t.Errorf("%s: the containers do not run as specified", pod.Name)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d Pods have a report", seen)
	}
}

func running() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"v": "1"}, Annotations: map[string]string{"n": "a"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x:1", Env: []corev1.EnvVar{
			env("V", "metadata.labels['v']"), env("N", "metadata.annotations['n']"),
		}}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "x", ContainerID: "c://1"}}},
	}
}

func env(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func reportOf(pod *corev1.Pod) *Containers {
	c := &pod.Spec.Containers[0]
	return &Containers{Containers: []Container{{Name: "x", ContainerID: "c://1", Hashes: Hashes{
		PlainHash:                    jsonHash(c),
		ExtractedEnvFromMetadataHash: EnvHash(c, func(ref FieldRef, _ string) string { return ref.value(pod) }),
	}}}}
}

func TestWhatMakesAReportStale(t *testing.T) {
	for name, tt := range map[string]struct {
		edit       func(*corev1.Pod)
		plain, env bool
	}{
		"nothing":          {func(*corev1.Pod) {}, true, true},
		"another image":    {func(p *corev1.Pod) { p.Spec.Containers[0].Image = "x:2" }, false, true},
		"another label":    {func(p *corev1.Pod) { p.Labels["v"] = "2" }, true, false},
		"no annotation":    {func(p *corev1.Pod) { p.Annotations = nil }, true, false},
		"other metadata":   {func(p *corev1.Pod) { p.Labels["w"] = "2" }, true, true},
		"newer container":  {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].ContainerID = "c://2" }, false, false},
		"no status":        {func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, false, false},
		"one not reported": {func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "y"}) }, false, false},
	} {
		pod := running()
		report := reportOf(pod)
		tt.edit(pod)
		if plain, env := report.Consistent(pod, SamePlain), report.Consistent(pod, SameEnv(pod)); plain != tt.plain || env != tt.env {
			t.Errorf("%s: plain %v, env %v", name, plain, env)
		}
	}
}

func TestOrderAndOtherVariablesDoNotMatter(t *testing.T) {
	pod := running()
	report := reportOf(pod)
	pod.Spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "A", Value: "b"}, env("N", "metadata.annotations['n']"), env("IP", "status.podIP"), env("NAME", "metadata.name"),
		env("SIDECARSET_VERSION", "metadata.annotations['x']"), env("V", "metadata.labels['v']"),
	}
	if !report.Consistent(pod, SameEnv(pod)) {
		t.Error("the hash depends on more than the variables from labels and annotations")
	}
}

func TestReadRefusesWhatIsNoReport(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"apps.kruise.io/runtime-containers-meta": "{"}}}
	if _, err := Read(pod); err == nil {
		t.Error("half a JSON object is read")
	}
	if report, err := Read(&corev1.Pod{}); report != nil || err != nil {
		t.Errorf("no report is %v, %v", report, err)
	}
}
