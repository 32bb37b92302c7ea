package articles

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestArticles applies every manifest as a user would, on one cluster.
func TestArticles(t *testing.T) {
	w := newWorld(t)
	for _, v := range load(t) {
		t.Run(v.File, func(t *testing.T) {
			part := *w
			part.T = t
			part.check(v)
		})
	}
	for name, test := range map[string]func(*world){
		"a restart of a Pod that is not there": restartOfNobody,
		"what the service is asked about":      asked,
		"a sidecar renamed by an update":       renamed,
	} {
		t.Run(name, func(t *testing.T) {
			part := *w
			part.T = t
			test(&part)
		})
	}
}

func restartOfNobody(w *world) {
	request := `{apiVersion: apps.kruise.io/v1alpha1, kind: ContainerRecreateRequest, metadata: {name: crr-dmo, namespace: default}, ` +
		`spec: {podName: gone, containers: [{name: app}]}}`
	w.says(request, []string{"apply", "-f", "-"}, `spec.podName: Not found: there is no Pod "gone" in namespace "default"`)
}

// renamed: the article applies the second SidecarSet over the first one, which has its name but calls the sidecar otherwise.
func renamed(w *world) {
	const first, second, corrected = "sidecarset-with-volume", "sidecarset-canary-by-selector", "corrected/sidecarset-canary"
	w.Cleanup(func() { w.remove(first) })
	w.Must("", "apply", "-f", manifest(first))
	w.injected(injection{File: "pod-selected", Containers: []string{"sidecar1 busybox", "app nginx"}})
	w.says("", []string{"apply", "-f", manifest(second)},
		`spec.containers[0].name: Forbidden: container "sidecar-1" cannot be added or renamed by an update: use another SidecarSet for it`)
	w.Must("", "apply", "-f", manifest(corrected))
	for _, pod := range []string{"pod-canary", "pod-selected"} {
		w.injected(injection{File: pod, Containers: []string{"sidecar1 busybox:1.35.0", "app nginx"}})
	}
}

func (w *world) check(v verdict) {
	switch {
	case v.Verdict == "refused":
		w.refused(v)
	case v.Beside != "":
		w.Cleanup(func() { w.remove(v.Beside) })
		w.Must("", "apply", "-f", manifest(v.Beside))
		w.injected(*v.Pod)
	default:
		w.accepted(v)
		if v.Pod != nil {
			w.injected(*v.Pod)
		}
	}
	for _, instead := range v.Instead {
		w.remove(v.File)
		w.accepted(verdict{File: instead})
		if v.Verdict == "refused" && v.Pod != nil {
			w.injected(*v.Pod)
		}
		w.remove(instead)
	}
}

// accepted applies a manifest twice, of which nothing may be lost, nor change the second time.
func (w *world) accepted(v verdict) {
	w.Helper()
	w.Cleanup(func() { w.remove(v.File) })
	w.Must("", "apply", "-f", manifest(v.File))
	object := w.read(manifest(v.File))
	if diff := cmp.Diff(v.Drops, missing("", parse(w.T, v.File), object)); diff != "" {
		w.Errorf("%s: lost or changed (+): %s in %v", v.File, diff, object)
	}
	w.holds(object, v.Holds)
	for _, path := range v.Lacks {
		if got := at(object, path); got != nil {
			w.Errorf("%s has %s: %v", v.File, path, got)
		}
	}
	w.Must("", "apply", "-f", manifest(v.File))
	again := w.read(manifest(v.File))
	if diff := cmp.Diff(object["spec"], again["spec"]); diff != "" {
		w.Errorf("%s: applied again: %s", v.File, diff)
	}
	if diff := cmp.Diff(at(object, "metadata/generation"), at(again, "metadata/generation")); diff != "" {
		w.Errorf("%s: applied again: generation: %s", v.File, diff)
	}
}

// remove deletes the object of a manifest. Of a SidecarSet it also waits until Pods are not injected any more.
func (w *world) remove(name string) {
	w.Helper()
	w.Must("", "delete", "--wait=false", "--ignore-not-found", "-f", manifest(name))
	object := parse(w.T, name)
	if object["kind"] != "SidecarSet" {
		return
	}
	pod, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "after", "namespace": "default", "labels": at(object, "spec/selector/matchLabels")},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "after", "image": "nginx"}}},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Until("Pods are as they were", func() bool { return len(containers(w.dryRun(string(pod)))) == 1 })
}

func (w *world) holds(object map[string]any, holds map[string]any) {
	w.Helper()
	for path, want := range holds {
		got := at(object, path)
		if diff := cmp.Diff(want, got); want != "*" && diff != "" || got == nil {
			w.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

// injected creates a Pod until the watch has told of the SidecarSet.
func (w *world) injected(pod injection) {
	w.Helper()
	w.Until("the Pod has the containers "+strings.Join(pod.Containers, ", "), func() bool {
		got := w.dryRunFile(pod.File)
		if slices.Equal(containers(got), pod.Containers) {
			w.holds(got, pod.Holds)
			return true
		}
		return false
	})
}

func (w *world) dryRunFile(name string) map[string]any {
	w.Helper()
	text, err := json.Marshal(parse(w.T, name))
	if err != nil {
		w.Fatal(err)
	}
	return w.dryRun(string(text))
}

func (w *world) dryRun(pod string) (got map[string]any) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.Must(pod, "create", "--dry-run=server", "-o", "json", "-f", "-")), &got); err != nil {
		w.Fatal(err)
	}
	return got
}

// containers are the names and images of a Pod's.
func containers(pod map[string]any) (all []string) {
	list, _ := at(pod, "spec/containers").([]any)
	for _, c := range list {
		all = append(all, fmt.Sprintf("%v %v", at(c, "name"), at(c, "image")))
	}
	return all
}

// refused applies a manifest that kubectl or the API server must refuse.
func (w *world) refused(v verdict) {
	w.Helper()
	w.Cleanup(func() { w.remove(v.File) })
	w.says("", []string{"apply", "-f", manifest(v.File)}, v.Says...)
	unchecked := []string{"apply", "--validate=false", "-f", manifest(v.File)}
	if v.Unchecked == "accepted" {
		w.Must("", unchecked...)
	} else {
		w.says("", unchecked, v.Unchecked)
	}
}

// says runs kubectl, which must fail with all of these words.
func (w *world) says(stdin string, args []string, words ...string) {
	w.Helper()
	out, err := w.Try(stdin, args...)
	if err == nil {
		w.Errorf("kubectl %s: accepted: %s", strings.Join(args, " "), out)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.Errorf("%v\nwant %q in it", err, word)
		}
	}
}

// missing are the paths of what a manifest says and the object does not.
func missing(path string, wants, has any) (lost []string) {
	switch want := wants.(type) {
	case map[string]any:
		object, _ := has.(map[string]any)
		for key, value := range want {
			lost = append(lost, missing(path+"/"+key, value, object[key])...)
		}
	case []any:
		list, _ := has.([]any)
		if len(list) != len(want) {
			return []string{path}
		}
		for i, value := range want {
			lost = append(lost, missing(fmt.Sprint(path, "/", i), value, list[i])...)
		}
	default:
		if !cmp.Equal(wants, has) {
			lost = []string{path}
		}
	}
	return lost
}
