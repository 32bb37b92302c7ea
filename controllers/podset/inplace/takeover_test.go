package inplace

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/controllers/podset/patched"
)

func read(t *testing.T, file string, list any) {
	t.Helper()
	data, err := os.ReadFile("../testdata/takeover/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, list); err != nil {
		t.Fatal(err)
	}
}

func podNamed(t *testing.T, file, name string) *corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	read(t, file, &pods)
	for i := range pods.Items {
		if pods.Items[i].Name == name {
			return &pods.Items[i]
		}
	}
	t.Fatalf("%s has no Pod %s", file, name)
	return nil
}

func revisionNamed(t *testing.T, name string) *appsv1.ControllerRevision {
	t.Helper()
	var revisions appsv1.ControllerRevisionList
	read(t, "2-updated/controllerrevisions.yaml", &revisions)
	for i := range revisions.Items {
		if revisions.Items[i].Name == name {
			return &revisions.Items[i]
		}
	}
	t.Fatalf("there is no revision %s", name)
	return nil
}

// TestTheReferencesUpdate makes the update that OpenKruise made, of an image and of a label that an env is made of.
func TestTheReferencesUpdate(t *testing.T) {
	change, err := Diff(revisionNamed(t, "shop-66c7d96cfb").Data.Raw, revisionNamed(t, "shop-79499558f7").Data.Raw, everything)
	if err != nil {
		t.Fatal(err)
	}
	before, want := podNamed(t, "1-created/pods.yaml", "shop-klpbm"), podNamed(t, "2-updated/pods.yaml", "shop-klpbm")
	write, err := Begin(before, change, "shop-79499558f7", 0, time.Date(2026, 11, 29, 17, 38, 47, 0, time.UTC), Server{Resize: true})
	if err != nil {
		t.Fatal(err)
	}
	got := patched.Pod(t, before, write.Patch)
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Annotations["apps.kruise.io/inplace-update-state"], got.Annotations["apps.kruise.io/inplace-update-state"]); diff != "" {
		t.Error(diff)
	}
	if got.Labels["version"] != "2" || Complete(got) || !Complete(want) {
		t.Errorf("version is %s, complete before %v and after %v", got.Labels["version"], Complete(got), Complete(want))
	}
}

func TestEveryPodOfTheReferenceIsComplete(t *testing.T) {
	var pods corev1.PodList
	read(t, "2-updated/pods.yaml", &pods)
	for i := range pods.Items {
		pod := &pods.Items[i]
		if r, err := Refresh(pod, ProgressOf(pod), now, Server{}); err != nil || !r.Open || r.Patch != nil {
			t.Errorf("%s: %+v, %v", pod.Name, r, err)
		}
	}
}

// TestTheReportTellsTwoTagsOfOneImageApart has a container whose image ID does not change, as when a tag is moved: only
// the kubelet's hash, here that of nginx:1.15.1, says that it was restarted.
func TestTheReportTellsTwoTagsOfOneImageApart(t *testing.T) {
	pod := podNamed(t, "1-created/pods.yaml", "data-kl82p")
	write, err := Begin(pod, images("main", "nginx:1.15.1"), "data-new", 0, now, Server{})
	if err != nil {
		t.Fatal(err)
	}
	pod = patched.Pod(t, pod, write.Patch)
	report := func(hash string) {
		pod.Annotations["apps.kruise.io/runtime-containers-meta"] = `{"containers":[{"name":"main","containerID":"` + pod.Status.ContainerStatuses[0].ContainerID +
			`","restartCount":1,"hashes":{"plainHash":` + hash + `}}]}`
	}
	report("2693376322") // of nginx:1.14.2
	if Complete(pod) {
		t.Error("it is complete while the old container runs")
	}
	report("1154321047")
	if !Complete(pod) {
		t.Error("it is not complete although the new container runs")
	}
}
