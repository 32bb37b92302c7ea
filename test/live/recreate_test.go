package live

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
)

const shop = `
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop}
spec:
  nodeName: n1
  terminationGracePeriodSeconds: 45
  initContainers: [{name: setup, image: "bank.test/job:v1"}]
  containers:
  - name: web
    image: bank.test/web:v1
    ports: [{name: admin, containerPort: 8080}]
    lifecycle: {preStop: {httpGet: {path: /quit, port: admin}}}
  - {name: nap, image: "bank.test/web:v1", lifecycle: {preStop: {sleep: {seconds: 7}}}}
  - {name: late, image: "bank.test/web:v1"}
`

// open makes the Pod, once.
func (w *world) open() {
	w.Helper()
	w.Must(shop, "apply", "-f", "-")
	w.restarted(3)
}

// restarted is the kubelet's report after so many restarts of "web".
func (w *world) restarted(times int) {
	w.Helper()
	const running = `"state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}},"image":"i","imageID":"j","ready":true`
	w.Must("", "patch", "pod", "web-0", "-n", "shop", "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
		`{"status":{"phase":"Running","containerStatuses":[{"name":"web","containerID":"containerd://w%d","restartCount":%d,%s},`+
			`{"name":"nap","containerID":"containerd://n","restartCount":0,%s},{"name":"late","restartCount":0,"image":"i","imageID":"","ready":false}]}}`,
		times, times, running, running))
}

func recreate(version, name, spec string) string {
	return "{apiVersion: apps.kruise.io/" + version + ", kind: ContainerRecreateRequest, metadata: {name: " + name + ", namespace: shop}, spec: " + spec + "}"
}

// aRestartNamesTheInstanceOfThisMoment restarts a container right before each request: a cache would be behind.
func aRestartNamesTheInstanceOfThisMoment(w *world) {
	w.open()
	uid := w.Must("", "get", "pod", "web-0", "-n", "shop", "-o", "jsonpath={.metadata.uid}")
	for i, version := range []string{"v1alpha1", "v1beta1"} {
		times := 10 + i
		w.restarted(times)
		w.Must(recreate(version, "now-"+version, "{podName: web-0, containers: [{name: web}, {name: nap}]}"), "create", "-f", "-")
		var got struct {
			Metadata struct{ Labels map[string]string }
			Spec     any
		}
		if err := json.Unmarshal([]byte(w.Must("", "get", "crr", "now-"+version, "-n", "shop", "-o", "json")), &got); err != nil {
			w.Fatal(err)
		}
		labels := map[string]string{
			"crr.apps.kruise.io/active": "true", "crr.apps.kruise.io/node-name": "n1", "crr.apps.kruise.io/pod-uid": uid,
		}
		if diff := cmp.Diff(labels, got.Metadata.Labels); diff != "" {
			w.Errorf("labels (-want +got):\n%s", diff)
		}
		var want any
		spec := fmt.Sprintf(`{"podName":"web-0","strategy":{"failurePolicy":"Fail","terminationGracePeriodSeconds":45},"containers":[
			{"name":"web","preStop":{"httpGet":{"path":"/quit","port":"admin","scheme":"HTTP"}},
			"ports":[{"name":"admin","containerPort":8080,"protocol":"TCP"}],"statusContext":{"containerID":"containerd://w%d","restartCount":%d}},
			{"name":"nap","preStop":{"sleep":{"seconds":7}},"statusContext":{"containerID":"containerd://n","restartCount":0}}]}`, times, times)
		if err := json.Unmarshal([]byte(spec), &want); err != nil {
			w.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Spec); diff != "" {
			w.Errorf("%s: spec (-want +got):\n%s", version, diff)
		}
	}
}

func whatCannotBeCapturedIsRefused(w *world) {
	w.open()
	for spec, words := range map[string]string{
		"{podName: web-9, containers: [{name: web}]}":                                                   `there is no Pod "web-9" in namespace "shop"`,
		"{podName: web-0, containers: [{name: other}]}":                                                 `Pod "web-0" has no container "other"`,
		"{podName: web-0, containers: [{name: setup}]}":                                                 "is an init container",
		"{podName: web-0, containers: [{name: late}]}":                                                  "has never started",
		"{podName: web-0, containers: [{name: web}, {name: web}]}":                                      "Duplicate value",
		"{podName: web-0, containers: [{name: web, statusContext: {containerID: x, restartCount: 0}}]}": "spec.containers[0].statusContext: Forbidden",
	} {
		w.Refused(recreate("v1beta1", "refusal", spec), []string{"create", "-f", "-"}, words)
	}
}

func aCapturedRequestDoesNotChange(w *world) {
	w.open()
	w.Must(recreate("v1beta1", "fixed", "{podName: web-0, containers: [{name: web}]}"), "create", "-f", "-")
	patch := func(patch string) []string {
		return []string{"patch", "crr", "fixed", "-n", "shop", "--type=merge", "-p", patch}
	}
	w.Refused("", patch(`{"spec":{"ttlSecondsAfterFinished":5}}`), "(Forbidden)", "spec")
	w.Refused("", patch(`{"metadata":{"labels":{"crr.apps.kruise.io/node-name":null}}}`), "crr.apps.kruise.io/node-name")
	for _, allowed := range []string{
		`{"metadata":{"labels":{"crr.apps.kruise.io/active":null}}}`,
		`{"metadata":{"finalizers":["crr.apps.kruise.io/unready-acquired"]}}`,
		`{"metadata":{"finalizers":null}}`,
	} {
		w.Must("", patch(allowed)...)
	}
	w.Must("", "delete", "crr", "fixed", "-n", "shop")
}

// aManifestOfARestartIsAppliedTwice does what people and pipelines do with a manifest: the second time lacks what the
// first one had filled in.
func aManifestOfARestartIsAppliedTwice(w *world) {
	w.open()
	for name, apply := range map[string][]string{
		"patched": {"apply", "-f", "-"}, "merged": {"apply", "--server-side", "-f", "-"},
	} {
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			name := name + "-" + version
			manifest := recreate(version, name, "{podName: web-0, containers: [{name: nap}, {name: web}], strategy: {orderedRecreate: false}, ttlSecondsAfterFinished: 600}")
			w.Must(manifest, apply...)
			stored := func() string {
				return w.Must("", "get", "crr", name, "-n", "shop", "-o", "jsonpath={.metadata.generation} {.spec}")
			}
			first := stored()
			w.Must(manifest, apply...)
			if again := stored(); again != first {
				w.Errorf("%s: stored are %s\nand then %s", name, first, again)
			}
			w.Refused(strings.Replace(manifest, "600", "601", 1), apply, "spec: Forbidden: is immutable")
			w.Refused(strings.Replace(manifest, "{name: nap}, {name: web}", "{name: web}, {name: nap}", 1), apply, "spec: Forbidden: is immutable")
			w.Refused(strings.Replace(manifest, "{name: nap}, ", "", 1), apply, "spec: Forbidden: is immutable")
		}
	}
}
