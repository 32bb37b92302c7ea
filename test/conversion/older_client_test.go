package conversion

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// anOlderClientErasesNothing: an autoscaler, and tools that read, edit and replace, speak v1alpha1 to objects of v1beta1.
func (w *world) anOlderClientErasesNothing() {
	w.Helper()
	for _, file := range []string{"testdata/statefulset.yaml", "testdata/cloneset.yaml"} {
		text, err := os.ReadFile(file)
		w.must(err)
		w.apply(string(text))
	}
	w.scalesInV1alpha1()
	w.replacesInV1alpha1()
	w.patchesInV1beta1()
	w.appliesInBothVersions()
}

// scalesInV1alpha1 while both versions are watched.
func (w *world) scalesInV1alpha1() {
	w.Helper()
	alpha, beta := w.watch("statefulsets", "v1alpha1"), w.watch("statefulsets", "v1beta1")
	for _, replicas := range []string{"2", "0", "1", "4"} {
		w.kubectl("scale", "statefulsets.v1alpha1.apps.kruise.io/mc", "--replicas="+replicas)
		w.has("scaled to "+replicas, w.read("statefulsets", "v1beta1", "mc"), map[string]string{
			"spec/replicas": replicas, "spec/reserveOrdinals": `[0,"3-4"]`,
		})
	}
	time.Sleep(time.Second)
	one, other := alpha.stop(), beta.stop()
	if one != other || one != 5 { // as it was, and the four changes
		w.Errorf("%d events in v1alpha1, %d in v1beta1, want 5", one, other)
	}
}

// watched counts the events of a watch.
type watched struct {
	events  watch.Interface
	stopped atomic.Bool
	group   sync.WaitGroup
	count   int
}

func (w *world) watch(plural, version string) *watched {
	w.Helper()
	events, err := w.in(plural, version).Watch(context.Background(), metav1.ListOptions{FieldSelector: "metadata.name=mc"})
	w.must(err)
	seen := &watched{events: events}
	seen.group.Go(func() {
		for event := range events.ResultChan() {
			if seen.stopped.Load() {
				continue // the client makes an error of being stopped
			}
			seen.count++
			if object, ok := event.Object.(*unstructured.Unstructured); !ok || event.Type == watch.Error || !strings.HasSuffix(object.GetAPIVersion(), version) {
				w.Errorf("an event of type %s with %v", event.Type, event.Object)
			}
		}
	})
	return seen
}

func (s *watched) stop() int {
	s.stopped.Store(true)
	s.events.Stop()
	s.group.Wait()
	return s.count
}

func (w *world) replacesInV1alpha1() {
	w.Helper()
	object := w.read("statefulsets", "v1alpha1", "mc")
	w.has("v1alpha1", object, map[string]string{"spec/reserveOrdinals": "", "spec/lifecycle": "", "spec/scaleStrategy": ""})
	w.must(unstructured.SetNestedField(object.Object, int64(5), "spec", "replicas"))
	w.must(unstructured.SetNestedField(object.Object, "2", "spec", "template", "metadata", "labels", "round"))
	_, err := w.in("statefulsets", "v1alpha1").Update(w.Context(), object, metav1.UpdateOptions{})
	w.must(err)
	got := w.read("statefulsets", "v1beta1", "mc")
	w.has("replaced in v1alpha1", got, map[string]string{
		"spec/replicas": "5", "spec/reserveOrdinals": `[0,"3-4"]`, "spec/scaleStrategy/maxUnavailable": `"100%"`,
		"spec/persistentVolumeClaimRetentionPolicy/whenDeleted": `"Delete"`,
		"spec/lifecycle/preDelete/labelsHandler":                `{"example.io/block":"true"}`,
		"spec/template/metadata/labels":                         `{"app":"mc","round":"2"}`,
	})
	for key := range got.GetAnnotations() {
		if strings.Contains(key, "fairlead.io/") {
			w.Errorf("v1beta1 shows annotation %s", key)
		}
	}
	w.replacedByItself("statefulsets", "v1alpha1", "mc")
}

// replacedByItself writes an object as it was read, which changes nothing.
func (w *world) replacedByItself(plural, version, name string) {
	w.Helper()
	before := w.read(plural, version, name)
	after, err := w.in(plural, version).Update(w.Context(), before, metav1.UpdateOptions{})
	w.must(err)
	if before.GetGeneration() != after.GetGeneration() || before.GetResourceVersion() != after.GetResourceVersion() {
		w.Errorf("%s %s replaced by itself in %s: generation %d, then %d; resourceVersion %s, then %s", plural, name, version,
			before.GetGeneration(), after.GetGeneration(), before.GetResourceVersion(), after.GetResourceVersion())
	}
}

func (w *world) patchesInV1beta1() {
	w.Helper()
	w.has("pool in v1beta1", w.read("clonesets", "v1beta1", "pool"), map[string]string{
		"spec/updateStrategy/type":                                `"RollingUpdate"`,
		"spec/updateStrategy/rollingUpdate/podUpdatePolicy":       `"InPlaceIfPossible"`,
		"spec/updateStrategy/rollingUpdate/maxUnavailable":        `"33%"`,
		"spec/updateStrategy/rollingUpdate/partition":             `"10%"`,
		"spec/scaleStrategy/enablePVCReuse":                       "false",
		"spec/scaleStrategy/excludePreparingDelete":               "true",
		"spec/updateStrategy/rollingUpdate/inPlaceUpdateStrategy": `{"imagePreDownloadParallelism":5,"imagePreDownloadTimeoutSeconds":900}`,
	})
	w.patch("clonesets", "v1beta1", "pool", `{"spec":{"replicas":1}}`)
	w.has("pool in v1alpha1", w.read("clonesets", "v1alpha1", "pool"), map[string]string{
		"spec/replicas":                      "1",
		"spec/updateStrategy/type":           `"InPlaceIfPossible"`,
		"spec/scaleStrategy/disablePVCReuse": "true",
	})
	object := w.read("clonesets", "v1alpha1", "pool")
	for key, want := range map[string]string{
		"apps.kruise.io/image-predownload-parallelism":            "5",
		"apps.kruise.io/image-predownload-timeout-seconds":        "900",
		"apps.kruise.io/image-predownload-min-updated-ready-pods": "20%",
	} {
		if got := object.GetAnnotations()[key]; got != want {
			w.Errorf("pool in v1alpha1: annotation %s is %q, want %q", key, got, want)
		}
	}
	if got := object.GetLabels()["apps.kruise.io/cloneset-scaling-exclude-preparing-delete"]; got != "true" {
		w.Errorf("pool in v1alpha1: the label is %q", got)
	}
	w.replacedByItself("clonesets", "v1alpha1", "pool")
	w.replacedByItself("clonesets", "v1beta1", "pool")
}

// appliesInBothVersions: server-side apply converts the object into the version of each of its managers.
func (w *world) appliesInBothVersions() {
	w.Helper()
	apply := func(manager, version, spec string) {
		w.Helper()
		text := "apiVersion: apps.kruise.io/" + version + "\nkind: StatefulSet\nmetadata: {name: mc, namespace: default}\nspec: " + spec
		_, err := w.KubectlInput(w.Context(), strings.NewReader(text), "apply", "--server-side", "--force-conflicts", "--field-manager", manager, "-f", "-")
		w.must(err)
	}
	apply("scaler", "v1alpha1", `{replicas: 3}`)
	apply("reserver", "v1beta1", `{reserveOrdinals: [7]}`)
	apply("scaler", "v1alpha1", `{replicas: 6}`)
	w.has("applied", w.read("statefulsets", "v1beta1", "mc"), map[string]string{
		"spec/replicas": "6", "spec/reserveOrdinals": "[7]", "spec/scaleStrategy/maxUnavailable": `"100%"`,
	})
	// What its manager no longer applies goes, whole or in part, and what others have said stays.
	apply("reserver", "v1beta1", `{reserveOrdinals: [7], scaleStrategy: {maxUnavailable: 50%}, lifecycle: {inPlaceUpdate: {finalizersHandler: [a/b], markPodNotReady: true}}}`)
	apply("scaler", "v1alpha1", `{replicas: 5}`)
	apply("reserver", "v1beta1", `{scaleStrategy: {maxUnavailable: 50%}, lifecycle: {inPlaceUpdate: {finalizersHandler: [a/b]}}}`)
	w.has("given up in part", w.read("statefulsets", "v1beta1", "mc"), map[string]string{
		"spec/replicas": "5", "spec/reserveOrdinals": "", "spec/scaleStrategy/maxUnavailable": `"50%"`,
		"spec/lifecycle/inPlaceUpdate":           `{"finalizersHandler":["a/b"]}`,
		"spec/lifecycle/preDelete/labelsHandler": `{"example.io/block":"true"}`,
	})
}
