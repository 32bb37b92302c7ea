//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// deletesAsAsked Pods by name and by label, with and without replacement.
func deletesAsAsked(w cloneSets) {
	w.apply(strings.Replace(shopInPlace, "maxUnavailable: 1", "maxUnavailable: 2", 1))
	w.settled("shop", inFull(3))
	first := w.pods()
	w.patch("shop", fmt.Sprintf(`{"spec":{"scaleStrategy":{"podsToDelete":[%q]}}}`, first[0].Name))
	w.until(w.gone(first[0].Name))
	w.settled("shop", inFull(3))
	w.until(func() string {
		if left := w.read("shop").Spec.ScaleStrategy.PodsToDelete; len(left) > 0 {
			return fmt.Sprintf("podsToDelete still has %v", left)
		}
		return ""
	})
	w.kubectl("label", "pod", first[1].Name, "apps.kruise.io/specified-delete=true")
	w.until(w.gone(first[1].Name))
	w.settled("shop", inFull(3))
	w.patch("shop", fmt.Sprintf(`{"spec":{"replicas":2,"scaleStrategy":{"podsToDelete":[%q]}}}`, first[2].Name))
	w.until(w.gone(first[2].Name))
	w.settled("shop", inFull(2))
	if created := w.events("SuccessfulCreate"); created != 5 {
		w.Errorf("%d Pods were created, want 5: 3, and 2 replacements", created)
	}
	w.Refused("", []string{"-n", w.namespace, "patch", "clone", "shop", "--type=merge", "-p", `{"spec":{"scaleStrategy":{"podsToDelete":["nobody"]}}}`}, "nobody")
}

func (w cloneSets) gone(name string) func() string {
	return func() string {
		if slices.ContainsFunc(w.pods(), func(p corev1.Pod) bool { return p.Name == name }) {
			return "Pod " + name + " is still there"
		}
		return ""
	}
}

// events counts those with the reason, also where several became one.
func (w cloneSets) events(reason string) int {
	w.Helper()
	list := &corev1.EventList{}
	if err := w.client.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	n := 0
	for _, event := range list.Items {
		if event.Reason != reason || event.InvolvedObject.Kind != "CloneSet" {
			continue
		}
		times := max(event.Count, 1)
		if event.Series != nil {
			times = event.Series.Count
		}
		n += int(times)
	}
	return n
}

const session = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: session}
spec:
  replicas: 3
  updateStrategy: {type: InPlaceIfPossible}
  lifecycle:
    preNormal: {finalizersHandler: [example.io/unready-blocker]}
    preDelete: {finalizersHandler: [example.io/unready-blocker]}
    inPlaceUpdate: {finalizersHandler: [example.io/unready-blocker]}
  selector: {matchLabels: {app: session}}
  template:
    metadata:
      labels: {app: session}
      finalizers: [example.io/unready-blocker]
    spec:
      terminationGracePeriodSeconds: 2
      containers: [{name: web, image: "bank.test/web:v1"}]
`

// plainDeleteRunsNoHook: a Pod that kubectl deletes is replaced at once, one that is asked to go waits for its hook.
func plainDeleteRunsNoHook(w cloneSets) {
	w.apply(session)
	w.settled("session", inFull(3))
	first := w.pods()
	for _, pod := range first {
		if stateOf(&pod) != v1beta1.LifecycleStateNormal {
			w.Errorf("Pod %s is %s, want Normal", pod.Name, stateOf(&pod))
		}
	}
	x, y := first[0].Name, first[1].Name
	w.kubectl("delete", "pod", x, "--wait=false")
	w.podsAre(4, counts{3, 3, 3, 3})
	if pod := w.pod(x); pod.DeletionTimestamp == nil || len(pod.Finalizers) != 1 || stateOf(pod) == v1beta1.LifecycleStatePreparingDelete {
		w.Errorf("the deleted Pod has deletionTimestamp %v, finalizers %v, state %s", pod.DeletionTimestamp, pod.Finalizers, stateOf(pod))
	}
	w.kubectl("label", "pod", y, "apps.kruise.io/specified-delete=true")
	w.podsAre(4, counts{3, 3, 2, 3})
	time.Sleep(20 * time.Second) // nothing happens
	w.podsAre(4, counts{3, 3, 2, 3})
	if pod := w.pod(y); pod.DeletionTimestamp != nil || stateOf(pod) != v1beta1.LifecycleStatePreparingDelete || !isReady(pod) {
		w.Errorf("the Pod that is asked to go has deletionTimestamp %v, state %s, ready %t", pod.DeletionTimestamp, stateOf(pod), isReady(pod))
	}
	w.unblock(y)
	w.until(w.gone(y))
	w.podsAre(4, inFull(3))
	w.unblock(x)
	w.until(w.gone(x))
	w.settled("session", inFull(3))
	if created, deleted := w.events("SuccessfulCreate"), w.events("SuccessfulDelete"); created != 5 || deleted != 1 {
		w.Errorf("the events tell of %d created and %d deleted Pods, want 5 and 1", created, deleted)
	}
}

// podsAre waits for the number of Pods, also those that are being deleted, and what the status says.
func (w cloneSets) podsAre(pods int, want counts) {
	w.Helper()
	w.until(func() string {
		if status := countsOf(w.read("session").Status); status != want || len(w.pods()) != pods {
			return fmt.Sprintf("there are %d Pods and status %+v, want %d and %+v", len(w.pods()), status, pods, want)
		}
		return ""
	})
}

func (w cloneSets) unblock(pod string) {
	w.Helper()
	w.kubectl("patch", "pod", pod, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}

// leavesServiceFirst: with markPodNotReady a Pod is not Ready from before its hook is released, through its update, and
// until it is deleted; after the update it is again.
func leavesServiceFirst(w cloneSets) {
	w.apply(strings.NewReplacer("preNormal: {finalizersHandler: [example.io/unready-blocker]}", "", "replicas: 3", "replicas: 2",
		"{finalizersHandler:", "{markPodNotReady: true, finalizersHandler:").Replace(session))
	w.settled("session", inFull(2))
	before := keptOf(w.pods())
	w.setImage("session", "bank.test/web:v2")
	for range 2 {
		held := w.held(v1beta1.LifecycleStatePreparingUpdate)
		if restarts(held)["web"] != 0 || held.Spec.Containers[0].Image != "bank.test/web:v1" {
			w.Errorf("Pod %s was updated before its hook was released: %+v", held.Name, held.Status.ContainerStatuses)
		}
		w.unblock(held.Name)
		w.until(func() string {
			pod := w.pod(held.Name)
			if stateOf(pod) == v1beta1.LifecycleStateUpdated {
				return ""
			}
			return fmt.Sprintf("Pod %s is %s", pod.Name, stateOf(pod))
		})
		w.kubectl("patch", "pod", held.Name, "--type=merge", "-p", `{"metadata":{"finalizers":["example.io/unready-blocker"]}}`)
	}
	w.settled("session", inFull(2))
	if diff := cmp.Diff(before, keptOf(w.pods())); diff != "" {
		w.Errorf("Pods are not the same after an update in place (-before +now):\n%s", diff)
	}
	w.kubectl("scale", "clone", "session", "--replicas=1")
	held := w.held(v1beta1.LifecycleStatePreparingDelete)
	if held.DeletionTimestamp != nil {
		w.Errorf("Pod %s is being deleted before its hook was released", held.Name)
	}
	w.unblock(held.Name)
	w.settled("session", inFull(1))
}

// held waits for one Pod in the state, out of service.
func (w cloneSets) held(state v1beta1.LifecycleStateType) (found *corev1.Pod) {
	w.Helper()
	w.until(func() string {
		pods := w.pods()
		for i := range pods {
			if stateOf(&pods[i]) == state && !isReady(&pods[i]) {
				found = &pods[i]
				return ""
			}
		}
		return fmt.Sprintf("no Pod is %s and not Ready", state)
	})
	return found
}
