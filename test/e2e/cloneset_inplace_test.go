//go:build e2e

package e2e

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/test/installation"
)

const shopInPlace = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: shop}
spec:
  replicas: 3
  updateStrategy: {type: InPlaceIfPossible, maxUnavailable: 1}
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
      - {name: web, image: "bank.test/web:v1", readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}}
      - {name: agent, image: "bank.test/tool:v1"}
`

func inPlaceKeepsThePod(w cloneSets) {
	w.apply(shopInPlace)
	w.settled("shop", inFull(3))
	w.updatesInPlace("clonesets.v1alpha1.apps.kruise.io")
	w.changesEnvironmentByRecreation()
}

func inPlaceKeepsThePodInBeta(w cloneSets) {
	w.apply(strings.NewReplacer("v1alpha1", "v1beta1", "{type: InPlaceIfPossible, maxUnavailable: 1}",
		"{rollingUpdate: {podUpdatePolicy: InPlaceIfPossible, maxUnavailable: 1, inPlaceUpdateStrategy: {gracePeriodSeconds: 2}}}").Replace(shopInPlace))
	w.settled("shop", inFull(3))
	w.updatesInPlace("clonesets.v1beta1.apps.kruise.io")
}

// kept is what an update in place leaves as it is.
type kept struct{ UID, Node, IP string }

func keptOf(pods []corev1.Pod) map[string]kept {
	all := map[string]kept{}
	for _, pod := range pods {
		all[pod.Name] = kept{string(pod.UID), pod.Spec.NodeName, pod.Status.PodIP}
	}
	return all
}

// keptButForWeb: the Pods are those of before, in which the container web has been restarted once, and nothing else.
func (w cloneSets) keptButForWeb(before map[string]kept) []corev1.Pod {
	w.Helper()
	pods := w.pods()
	if diff := cmp.Diff(before, keptOf(pods)); diff != "" {
		w.Errorf("Pods are not the same after an update in place (-before +now):\n%s", diff)
	}
	for _, pod := range pods {
		if diff := cmp.Diff(map[string]int32{"web": 1, "agent": 0}, restarts(&pod)); diff != "" {
			w.Errorf("Pod %s has restarted its containers (-want +got):\n%s", pod.Name, diff)
		}
	}
	return pods
}

// updatesInPlace changes one image and a label, as a client of the version does.
func (w cloneSets) updatesInPlace(resource string) {
	w.Helper()
	before := keptOf(w.pods())
	w.kubectl("patch", resource, "shop", "--type=json", "-p", `[
{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"bank.test/web:v2"},
{"op":"add","path":"/spec/template/metadata/labels/release","value":"second"}]`)
	w.settled("shop", inFull(3))
	for _, pod := range w.keptButForWeb(before) {
		if image := pod.Spec.Containers[0].Image; image != "bank.test/web:v2" || pod.Labels["release"] != "second" {
			w.Errorf("Pod %s has image %s and label %q", pod.Name, image, pod.Labels["release"])
		}
		if says := w.exec(pod.Name, "agent", "wget", "-qO-", "http://127.0.0.1:8080/"); says != "v2" {
			w.Errorf("Pod %s answers %q, want v2", pod.Name, says)
		}
	}
	if set := w.read("shop"); set.Status.CurrentRevision != set.Status.UpdateRevision {
		w.Errorf("the rollout is not over: %+v", set.Status)
	}
	w.restsQuietly("shop")
}

// changesEnvironmentByRecreation is what the policy falls back to.
func (w cloneSets) changesEnvironmentByRecreation() {
	w.Helper()
	before := keptOf(w.pods())
	w.patch("shop", `{"spec":{"template":{"spec":{"containers":[
{"name":"web","image":"bank.test/web:v2","env":[{"name":"TIER","value":"front"}],"readinessProbe":{"httpGet":{"port":8080},"periodSeconds":1}},
{"name":"agent","image":"bank.test/tool:v1"}]}}}}`)
	w.settled("shop", inFull(3))
	for _, pod := range w.pods() {
		if _, same := before[pod.Name]; same {
			w.Errorf("Pod %s is still there after a change that cannot be made in place", pod.Name)
		}
	}
}

// recreates by the default policy, with claims to maxUnavailable.
func recreates(w cloneSets) {
	w.apply(strings.Replace(shopInPlace, "type: InPlaceIfPossible", "type: ReCreate", 1))
	w.settled("shop", inFull(3))
	before := keptOf(w.pods())
	w.setImage("shop", "bank.test/web:v2")
	w.settled("shop", inFull(3))
	for _, pod := range w.pods() {
		if _, same := before[pod.Name]; same || pod.Spec.Containers[0].Image != "bank.test/web:v2" {
			w.Errorf("Pod %s was there before, or has image %s", pod.Name, pod.Spec.Containers[0].Image)
		}
	}
	w.restsQuietly("shop")
}

const sharedImage = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: service}
spec:
  replicas: 2
  updateStrategy: {type: InPlaceIfPossible, maxUnavailable: 1}
  selector: {matchLabels: {app: service}}
  template:
    metadata:
      labels: {app: service}
      annotations: {apps.kruise.io/container-launch-priority: Ordered}
    spec:
      terminationGracePeriodSeconds: 2
      initContainers: [{name: migrate, image: "bank.test/web:v1", command: [/bin/busybox, "true"]}]
      containers:
      - {name: app, image: "bank.test/web:v1", readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}}
      - {name: side, image: "bank.test/tool:v1"}
`

// sharedImageIsRecreated: an init container has run, so that its image cannot change in place, and no Pod may ever have one
// image here and another there. The image of the application alone can.
func sharedImageIsRecreated(w cloneSets) {
	w.apply(sharedImage)
	w.settled("service", inFull(2))
	before := keptOf(w.pods())
	w.apply(strings.ReplaceAll(sharedImage, "bank.test/web:v1", "bank.test/web:v2"))
	w.until(func() string {
		set, updated := w.read("service"), 0
		for _, pod := range w.pods() {
			if first, app := pod.Spec.InitContainers[0].Image, pod.Spec.Containers[0].Image; first != app {
				w.Errorf("Pod %s has image %s in its init container and %s in its application", pod.Name, first, app)
			} else if app == "bank.test/web:v2" && isReady(&pod) {
				updated++
			}
		}
		if updated == 2 && set.Status.CurrentRevision == set.Status.UpdateRevision {
			return ""
		}
		return fmt.Sprintf("%d Pods are updated, status %+v", updated, set.Status)
	})
	w.settled("service", inFull(2))
	recreated := keptOf(w.pods())
	for name := range recreated {
		if _, same := before[name]; same {
			w.Errorf("Pod %s was not recreated", name)
		}
	}
	w.setImage("service", "bank.test/web:v3")
	w.settled("service", inFull(2))
	pods := w.pods()
	if diff := cmp.Diff(recreated, keptOf(pods)); diff != "" {
		w.Errorf("the application's image changed, but not in place (-before +now):\n%s", diff)
	}
	for _, pod := range pods {
		if diff := cmp.Diff(map[string]int32{"app": 1, "side": 0}, restarts(&pod)); diff != "" {
			w.Errorf("Pod %s (-want +got):\n%s", pod.Name, diff)
		}
		if image := pod.Spec.InitContainers[0].Image; image != "bank.test/web:v2" {
			w.Errorf("Pod %s has image %s in its init container, want v2", pod.Name, image)
		}
	}
}

// outlivesALeader kills the controllers' leader in the middle of a rollout: the next one goes on, and restarts nothing twice.
func outlivesALeader(w cloneSets) {
	w.apply(strings.Replace(shopInPlace, "replicas: 3", "replicas: 5", 1))
	w.settled("shop", inFull(5))
	before := keptOf(w.pods())
	w.setImage("shop", "bank.test/web:v2")
	w.until(func() string {
		if n := w.read("shop").Status.UpdatedReplicas; n < 2 {
			return fmt.Sprintf("%d Pods are updated", n)
		}
		return ""
	})
	leader, _, _ := strings.Cut(w.Must("", "-n", installation.Namespace, "get", "lease", "kruise-manager", "-o", "jsonpath={.spec.holderIdentity}"), "_")
	w.Must("", "-n", installation.Namespace, "delete", "pod", leader, "--grace-period=0", "--force", "--wait=false")
	if n := w.read("shop").Status.UpdatedReplicas; n == 5 {
		w.Error("the rollout was over before the leader was killed; this shows nothing")
	}
	w.settled("shop", inFull(5))
	w.keptButForWeb(before)
}
