package inplace

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/controllers/podset/patched"
	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
	"github.com/fairlead-io/fairlead/controllers/podset/runtimemeta"
)

func images(pairs ...string) *Change {
	c := &Change{}
	for i := 0; i < len(pairs); i += 2 {
		set(&c.Images, pairs[i], pairs[i+1])
	}
	return c
}

func annotation(t *testing.T, pod *corev1.Pod, want string) {
	t.Helper()
	if diff := cmp.Diff(want, pod.Annotations["apps.kruise.io/inplace-update-state"]); diff != "" {
		t.Errorf("state: %s", diff)
	}
}

func TestAnImage(t *testing.T) {
	pod := begin(t, running(template()), images("side", "side:2"), 0)
	annotation(t, pod, `{"revision":"set-new","updateTimestamp":"2025-01-01T00:00:00Z","lastContainerStatuses":{"side":{"imageID":"id-of-side:1"}},`+
		`"updateImages":true,"containerBatchesRecord":[{"timestamp":"2025-01-01T00:00:00Z","containers":["side"]}]}`)
	if pod.Spec.Containers[1].Image != "side:2" || pod.Spec.Containers[0].Image != "app:1" {
		t.Errorf("images are %s and %s", pod.Spec.Containers[0].Image, pod.Spec.Containers[1].Image)
	}
	if r := refresh(t, pod, now); r.Open || r.Patch != nil || Complete(pod) {
		t.Errorf("before the kubelet acts: %+v", r)
	}
	kubelet(pod, "side")
	if r := refresh(t, pod, now); !r.Open || r.Patch != nil || !Complete(pod) {
		t.Errorf("after the kubelet acted: %+v", r)
	}
}

func TestANewPodIsOpenedAtOnce(t *testing.T) {
	pod := running(template())
	if r := refresh(t, pod, now); !r.Open || !Complete(pod) {
		t.Errorf("%+v", r)
	}
}

func TestCompletionByImages(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"nothing happened":     {func(*corev1.Pod) {}, false},
		"another image runs":   {func(p *corev1.Pod) { p.Status.ContainerStatuses[1].ImageID = "x" }, true},
		"taken back in flight": {func(p *corev1.Pod) { p.Spec.Containers[1].Image = "side:1" }, true},
		"same digest, new tag": {func(p *corev1.Pod) { p.Status.ContainerStatuses[1].Image = "docker.io/library/side:2" }, true},
		"short name":           {func(p *corev1.Pod) { p.Status.ContainerStatuses[1].Image = "side:2" }, true},
		"no tag is latest": {func(p *corev1.Pod) {
			p.Spec.Containers[1].Image, p.Status.ContainerStatuses[1].Image = "side", "docker.io/library/side:latest"
		}, true},
		"port and no tag": {func(p *corev1.Pod) {
			p.Spec.Containers[1].Image, p.Status.ContainerStatuses[1].Image = "reg:5000/side", "reg:5000/side:latest"
		}, true},
		"port and an older tag": {func(p *corev1.Pod) {
			p.Spec.Containers[1].Image, p.Status.ContainerStatuses[1].Image = "reg:5000/side", "reg:5000/side:1"
		}, false},
		"no status": {func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, false},
		"the report is garbage": {func(p *corev1.Pod) {
			p.Annotations["apps.kruise.io/runtime-containers-meta"], p.Status.ContainerStatuses[1].ImageID = "{", "x"
		}, false},
		"the report is too old":                      {func(p *corev1.Pod) { p.Annotations["apps.kruise.io/runtime-containers-meta"] = `{"containers":[]}` }, false},
		"same digest, the runtime says the old tag":  {restartedAs(nil), true},
		"restarted for a spec before this one":       {restartedAs(func(p *corev1.Pod) { p.Status.ObservedGeneration = 6 }), false},
		"restarted by a kubelet that does not say":   {restartedAs(func(p *corev1.Pod) { p.Status.ObservedGeneration, p.Generation = 0, 0 }), false},
		"it had restarted before":                    {restartedAs(func(p *corev1.Pod) { p.Status.ContainerStatuses[1].RestartCount = 2 }), false},
		"the start after a restart is still to come": {restartedAs(func(p *corev1.Pod) { p.Status.ContainerStatuses[1].State = corev1.ContainerState{} }), false},
		"the last restart was before the update": {restartedAs(func(p *corev1.Pod) {
			p.Status.ContainerStatuses[1].State.Running.StartedAt = metav1.NewTime(now.Add(-time.Second))
		}), false},
		"restarted, and the report does not say so": {restartedAs(func(p *corev1.Pod) {
			p.Annotations["apps.kruise.io/runtime-containers-meta"] = `{"containers":[]}`
		}), false},
		"a container not in use": {func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] }, true},
	} {
		pod := running(template())
		pod.Status.ContainerStatuses[1].RestartCount = 2
		pod = begin(t, pod, images("side", "side:2"), 0)
		tt.edit(pod)
		if got := Complete(pod); got != tt.want {
			t.Errorf("%s: complete is %v", name, got)
		}
	}
}

// restartedAs is a restart of the container side that changes no image ID, then edited.
func restartedAs(edit func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Generation, p.Status.ObservedGeneration = 7, 7
		status := &p.Status.ContainerStatuses[1]
		status.RestartCount++
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}
		if edit != nil {
			edit(p)
		}
	}
}

func TestPendingPodIsCompleteAtOnce(t *testing.T) {
	pending := running(template())
	pending.Status.ContainerStatuses = nil
	if pod := begin(t, pending, images("side", "side:2"), 0); !Complete(pod) {
		t.Error("a Pod without containers waits for them to change")
	}
}

// A Pod may be updated before its containers ran: its kubelet then starts them with the image of before, and anew.
func TestAContainerThatDidNotRunYet(t *testing.T) {
	waiting := corev1.ContainerStatus{Name: "side", Image: "side:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
	for name, before := range map[string]*corev1.ContainerStatus{"it is being created": &waiting, "nothing is reported yet": nil} {
		pod := running(template())
		pod.Spec.NodeName = "node"
		report := func(image, id string) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "side", Image: image, ImageID: id}}
		}
		pod.Status.ContainerStatuses = nil
		if before != nil {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{*before}
		}
		pod = begin(t, pod, images("side", "side:2"), 0)
		for _, step := range []struct {
			image, id string
			want      bool
		}{{"side:1", "", false}, {"side:2", "", false}, {"side:1", "id-of-side:1", false}, {"side:2", "id-of-side:2", true}} {
			report(step.image, step.id)
			if got := Complete(pod); got != step.want {
				t.Errorf("%s: with image %s and ID %q it is complete: %v", name, step.image, step.id, got)
			}
		}
	}
}

func TestGracePeriod(t *testing.T) {
	c := images("app", "app:2")
	c.Metadata = map[string]any{"labels": map[string]any{"app": "b"}}
	pod := begin(t, running(template()), c, 10)
	annotation(t, pod, `{"revision":"set-new","updateTimestamp":"2025-01-01T00:00:00Z","lastContainerStatuses":null}`)
	// The patch is {"metadata":{"labels":{"app":"b"}}} in base64.
	want := `{"revision":"set-new","containerImages":{"app":"app:2"},"metaDataPatch":"eyJtZXRhZGF0YSI6eyJsYWJlbHMiOnsiYXBwIjoiYiJ9fX0=","graceSeconds":10}`
	if diff := cmp.Diff(want, pod.Annotations["apps.kruise.io/inplace-update-grace"]); diff != "" {
		t.Fatal(diff)
	}
	if pod.Spec.Containers[0].Image != "app:1" || pod.Labels["app"] != "a" || Complete(pod) || !InGrace(pod) {
		t.Error("the change is made before the grace period is over")
	}
	if r := refresh(t, pod, now.Add(2500*time.Millisecond)); r.Patch != nil || r.Open || r.Wait != 8*time.Second {
		t.Errorf("in grace: %+v", r)
	}
	r := refresh(t, pod, now.Add(10*time.Second))
	if r.Patch == nil || r.Open {
		t.Fatalf("after grace: %+v", r)
	}
	after := patched.Pod(t, pod, r.Patch)
	annotation(t, after, `{"revision":"set-new","updateTimestamp":"2025-01-01T00:00:00Z","lastContainerStatuses":{"app":{"imageID":"id-of-app:1"}},`+
		`"updateImages":true,"containerBatchesRecord":[{"timestamp":"2025-01-01T00:00:10Z","containers":["app"]}]}`)
	if after.Spec.Containers[0].Image != "app:2" || after.Labels["app"] != "b" || InGrace(after) {
		t.Errorf("after grace the Pod is %+v", after)
	}
}

func TestAPatchThatClearsEverythingDoesNot(t *testing.T) {
	got, err := patchedMetadata([]byte(`{"metadata":{"labels":null,"creationTimestamp":null,"annotations":{"a":null}}}`))
	if diff := cmp.Diff(map[string]any{"annotations": map[string]any{"a": nil}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestGraceIsVoidForAnotherRevision(t *testing.T) {
	pod := begin(t, running(template()), images("app", "app:2"), 10)
	pod.Labels["controller-revision-hash"] = "set-newest"
	r := refresh(t, pod, now.Add(time.Hour))
	after := patched.Pod(t, pod, r.Patch)
	if InGrace(after) || after.Spec.Containers[0].Image != "app:1" {
		t.Errorf("the change is made although the Pod is to be another one: %+v", after)
	}
}

func TestGraceWithoutStateIsAnError(t *testing.T) {
	pod := begin(t, running(template()), images("app", "app:2"), 10)
	delete(pod.Annotations, "apps.kruise.io/inplace-update-state")
	if _, err := Refresh(pod, ProgressOf(pod), now.Add(time.Hour), Server{}); err == nil {
		t.Error("it is none")
	}
}

func TestLegacyAnnotationsAreReadAndReplaced(t *testing.T) {
	pod := begin(t, running(template()), images("app", "app:2"), 10)
	for _, key := range []string{"inplace-update-state", "inplace-update-grace"} {
		pod.Annotations[key] = pod.Annotations["apps.kruise.io/"+key]
		delete(pod.Annotations, "apps.kruise.io/"+key)
	}
	if !InGrace(pod) {
		t.Fatal("the legacy annotation is not read")
	}
	after := patched.Pod(t, pod, refresh(t, pod, now.Add(time.Minute)).Patch)
	if after.Spec.Containers[0].Image != "app:2" || after.Annotations["inplace-update-state"] != "" || after.Annotations["inplace-update-grace"] != "" || InGrace(after) {
		t.Errorf("after grace the annotations are %v", after.Annotations)
	}
}

func barrier(key string) corev1.EnvVar {
	return corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: key}}}
}

// prioritized gives app priority 0 and side -1, as an ordered Pod has.
func prioritized(t *corev1.PodTemplateSpec) {
	t.Spec.Containers[0].Env = append(t.Spec.Containers[0].Env, barrier("p_0"))
	t.Spec.Containers[1].Env = append(t.Spec.Containers[1].Env, barrier("p_-1"))
}

func TestBatchesByPriority(t *testing.T) {
	pod := begin(t, running(template(prioritized)), images("app", "app:2", "side", "side:2"), 0)
	annotation(t, pod, `{"revision":"set-new","updateTimestamp":"2025-01-01T00:00:00Z","lastContainerStatuses":{"app":{"imageID":"id-of-app:1"}},`+
		`"updateImages":true,"nextContainerImages":{"side":"side:2"},"preCheckBeforeNext":{"containersRequiredReady":["app"]},`+
		`"containerBatchesRecord":[{"timestamp":"2025-01-01T00:00:00Z","containers":["app"]}]}`)
	kubelet(pod, "app")
	pod.Status.ContainerStatuses[0].Ready = false
	if r := refresh(t, pod, now); r.Patch != nil || r.Open || Complete(pod) {
		t.Errorf("before the first batch is ready: %+v", r)
	}
	pod.Status.ContainerStatuses[0].Ready = true
	r := refresh(t, pod, now.Add(time.Minute))
	if r.Patch == nil || r.Open {
		t.Fatalf("after the first batch: %+v", r)
	}
	pod = patched.Pod(t, pod, r.Patch)
	annotation(t, pod, `{"revision":"set-new","updateTimestamp":"2025-01-01T00:00:00Z","lastContainerStatuses":{"app":{"imageID":"id-of-app:1"},"side":{"imageID":"id-of-side:1"}},`+
		`"updateImages":true,"containerBatchesRecord":[{"timestamp":"2025-01-01T00:00:00Z","containers":["app"]},{"timestamp":"2025-01-01T00:01:00Z","containers":["side"]}]}`)
	if Complete(pod) || !Complete(kubelet(pod, "side")) {
		t.Error("the second batch is not waited for")
	}
}

func TestANewerUpdateKeepsWhatWasPutOff(t *testing.T) {
	pod := begin(t, running(template(prioritized)), images("app", "app:2", "side", "side:2"), 0)
	pod = begin(t, kubelet(pod, "app"), images("app", "app:3"), 0)
	state, err := ReadState(pod)
	if err != nil || state.NextContainerImages["side"] != "side:2" || pod.Spec.Containers[0].Image != "app:3" {
		t.Errorf("after the newer update the state is %+v (%v)", state, err)
	}
}

func TestWhoUsesAKeyJoinsItsBatch(t *testing.T) {
	pod := running(template(prioritized, func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[1].Env = append(t.Spec.Containers[1].Env, env("V", "metadata.labels['version']"))
		t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "last", Image: "last:1", Env: []corev1.EnvVar{barrier("p_-2"), env("N", "metadata.annotations['n']")}})
	}))
	change := images("app", "app:2", "last", "last:2")
	change.Env = map[string]Metadata{"app": {Labels: map[string]string{"version": "2"}}, "side": {Labels: map[string]string{"version": "2"}, Annotations: map[string]string{"n": "x"}}}
	_, later, containers := (work{images: change.Images, env: change.Env}).split(pod)
	if diff := cmp.Diff([]string{"app", "side", "last"}, containers); diff != "" || !later.empty() {
		t.Errorf("%s later %+v", diff, later)
	}
	delete(change.Env["side"].Annotations, "n")
	if _, later, containers = (work{images: change.Images, env: change.Env}).split(pod); len(containers) != 2 || later.images["last"] != "last:2" {
		t.Errorf("now %v, later %+v", containers, later)
	}
}

func TestMalformedPrioritiesAreNone(t *testing.T) {
	for _, e := range []corev1.EnvVar{{Name: "KRUISE_CONTAINER_BARRIER"}, {Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{}}, barrier("p_x"), barrier("1"), barrier("")} {
		if p, has := priorityOf(&corev1.Container{Env: []corev1.EnvVar{e}}); has {
			t.Errorf("%+v is priority %d", e, p)
		}
	}
}

func TestEnvFromMetadataNeedsTheReport(t *testing.T) {
	change := &Change{Env: map[string]Metadata{"app": {Labels: map[string]string{"version": "2"}}}}
	pod := begin(t, running(template()), change, 0)
	if pod.Labels["version"] != "2" || Complete(pod) {
		t.Errorf("labels are %v; complete before the daemon reports: %v", pod.Labels, Complete(pod))
	}
	state, err := ReadState(pod)
	if err != nil || !state.UpdateEnvFromMetadata || state.UpdateImages {
		t.Errorf("the state is %+v (%v)", state, err)
	}
}

func TestEnvFromMetadataIsNotPossibleWithoutADaemon(t *testing.T) {
	const report = "apps.kruise.io/runtime-containers-meta"
	env := &Change{Env: map[string]Metadata{"app": {Labels: map[string]string{"version": "2"}}}}
	for name, tt := range map[string]struct {
		change *Change
		edit   func(*corev1.Pod)
		want   bool
	}{
		"nobody reports":             {env, func(*corev1.Pod) {}, false},
		"a daemon reports":           {env, func(p *corev1.Pod) { p.Annotations = map[string]string{report: "{}"} }, true},
		"no container has started":   {env, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].ContainerID = "" }, true},
		"nothing but an image":       {images("side", "side:2"), func(*corev1.Pod) {}, true},
		"metadata that no env shows": {&Change{Metadata: map[string]any{"labels": map[string]any{"a": "b"}}}, func(*corev1.Pod) {}, true},
	} {
		pod := running(template())
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].ContainerID = ""
		}
		pod.Status.ContainerStatuses[0].ContainerID = "containerd://app"
		tt.edit(pod)
		err := tt.change.Possible(pod)
		var impossible *NotPossibleError
		if (err == nil) != tt.want || err != nil && !errors.As(err, &impossible) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResources(t *testing.T) {
	template := template(func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[1].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "memory", RestartPolicy: "RestartContainer"}, {ResourceName: "cpu", RestartPolicy: "NotRequired"}}
	})
	change := &Change{Resources: map[string]corev1.ResourceRequirements{"side": {Requests: amounts("2")}}}
	pod := kubelet(running(template), "app", "side")
	if change.MustLeaveService(pod) {
		t.Error("more CPU takes the Pod out of service")
	}
	memory := &Change{Resources: map[string]corev1.ResourceRequirements{"side": {Requests: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}}}
	limit := &Change{Resources: map[string]corev1.ResourceRequirements{"side": {Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}}}
	with := &Change{Resources: change.Resources, Images: map[string]string{"app": "app:2"}}
	metadata := &Change{Metadata: map[string]any{"labels": map[string]any{"x": "y"}}}
	if !memory.MustLeaveService(pod) || !limit.MustLeaveService(pod) || !with.MustLeaveService(pod) || !metadata.MustLeaveService(pod) {
		t.Error("a change that restarts containers, or metadata, leaves the Pod in service")
	}
	write, err := Begin(pod, change, "set-new", 0, now, Server{Resize: true})
	if err != nil || write.Resize == nil {
		t.Fatalf("%+v, %v", write, err)
	}
	resize, err := json.Marshal(write.Resize)
	want := `{"metadata":{"resourceVersion":"5","uid":"u"},"spec":{"containers":[{"name":"side","resources":{"requests":{"cpu":"2"}}}]}}`
	if err != nil || string(resize) != want {
		t.Errorf("the resize is %s (%v), want %s", resize, err, want)
	}
	after := patched.Pod(t, patched.Pod(t, pod, write.Resize), write.Patch)
	if Complete(after) || !Complete(kubelet(after, "side")) {
		t.Error("the kubelet's word on resources is not waited for")
	}
	older := begin(t, pod, change, 0)
	if got := older.Spec.Containers[1].Resources.Requests["cpu"]; got.String() != "2" {
		t.Errorf("without the subresource the request is %s", got.String())
	}
}

func TestABatchOfResourcesAloneIsApplied(t *testing.T) {
	change := images("app", "app:2")
	change.Resources = map[string]corev1.ResourceRequirements{"side": {Requests: amounts("2")}}
	pod := begin(t, kubelet(running(template(prioritized)), "app", "side"), change, 0)
	r := refresh(t, kubelet(pod, "app"), now)
	if r.Patch == nil {
		t.Fatal("the second batch never comes")
	}
	pod = patched.Pod(t, pod, r.Patch)
	if got := pod.Spec.Containers[1].Resources.Requests["cpu"]; got.String() != "2" {
		t.Errorf("the request is %s", got.String())
	}
}

// TestEveryWriteIsOfTheVersionThatWasRead of the Pod: at the beginning, at the end of grace, for a later batch.
func TestEveryWriteIsOfTheVersionThatWasRead(t *testing.T) {
	guarded := func(what string, patch *podpatch.Patch) {
		t.Helper()
		data, err := json.Marshal(patch)
		if err != nil || !strings.Contains(string(data), `"resourceVersion":"5"`) {
			t.Errorf("%s: %s (%v)", what, data, err)
		}
	}
	write, err := Begin(running(template()), images("app", "app:2"), "set-new", 0, now, Server{})
	if err != nil {
		t.Fatal(err)
	}
	guarded("the beginning", write.Patch)
	pod := begin(t, running(template()), images("app", "app:2"), 10)
	guarded("the end of grace", refresh(t, pod, now.Add(time.Minute)).Patch)
	pod = begin(t, running(template(prioritized)), images("app", "app:2", "side", "side:2"), 0)
	guarded("a later batch", refresh(t, kubelet(pod, "app"), now).Patch)
}

// TestANewerUpdateEndsGrace if it has no grace period itself: what was put off would be done to the newer Pod.
func TestANewerUpdateEndsGrace(t *testing.T) {
	pod := begin(t, running(template()), images("app", "app:2"), 10)
	if pod = begin(t, pod, images("app", "app:3"), 0); InGrace(pod) || pod.Spec.Containers[0].Image != "app:3" {
		t.Errorf("after the newer update annotations are %v", pod.Annotations)
	}
}

// TestEnvFromMetadataIsWhatTheReportSays has the daemon report first the container that was there, and then the new one.
func TestEnvFromMetadataIsWhatTheReportSays(t *testing.T) {
	pod := running(template())
	hashes := func() string {
		report := runtimemeta.Containers{}
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			report.Containers = append(report.Containers, runtimemeta.Container{Name: c.Name, ContainerID: "c://" + c.Name, Hashes: runtimemeta.Hashes{
				ExtractedEnvFromMetadataHash: runtimemeta.EnvHash(c, func(ref runtimemeta.FieldRef, _ string) string {
					if ref.Annotation {
						return pod.Annotations[ref.Key]
					}
					return pod.Labels[ref.Key]
				}),
			}})
		}
		return encode(report)
	}
	before := hashes()
	pod = begin(t, pod, &Change{Env: map[string]Metadata{"app": {Labels: map[string]string{"version": "2"}}}}, 0)
	if pod.Annotations["apps.kruise.io/runtime-containers-meta"] = before; Complete(pod) {
		t.Error("it is complete while the container runs with its old env")
	}
	if pod.Annotations["apps.kruise.io/runtime-containers-meta"] = hashes(); !Complete(pod) {
		t.Error("it is not complete although the container runs with its new env")
	}
}

// TestAnImageThatIsThereAlreadyIsNotWaitedFor although the runtime says its name in another way.
func TestAnImageThatIsThereAlreadyIsNotWaitedFor(t *testing.T) {
	pod := running(template())
	pod.Status.ContainerStatuses[0].Image = "sha256:0123"
	if pod = begin(t, pod, images("app", "app:1"), 0); !Complete(pod) {
		t.Errorf("it waits for a change that there is not: %v", pod.Annotations)
	}
}
