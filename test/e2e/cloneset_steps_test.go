//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const steadySet = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: steady}
spec:
  replicas: 8
  updateStrategy: {type: ReCreate, partition: 6, maxSurge: 50%, maxUnavailable: 0}
  selector: {matchLabels: {app: steady}}
  template:
    metadata: {labels: {app: steady}}
    spec:
      terminationGracePeriodSeconds: 2
      containers: [{name: web, image: "bank.test/web:v1", readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}}]
`

// extremes of what a watcher saw since the last step.
type extremes struct{ most, fewest int }

// podWatcher keeps the extremes of a namespace: of the Pods that are not being deleted, and of those that are Ready.
type podWatcher struct {
	mutex sync.Mutex
	seen  extremes
}

func (x *podWatcher) note(pods []corev1.Pod) {
	there, ready := 0, 0
	for i := range pods {
		if pods[i].DeletionTimestamp == nil {
			there++
			if isReady(&pods[i]) {
				ready++
			}
		}
	}
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.seen.most, x.seen.fewest = max(x.seen.most, there), min(x.seen.fewest, ready)
}

func (x *podWatcher) reset() extremes {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	seen := x.seen
	x.seen = extremes{fewest: 1 << 30}
	return seen
}

// observe looks at the Pods several times a second until the test's end.
func (w cloneSets) observe() *podWatcher {
	x := &podWatcher{}
	x.reset()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
			list := &corev1.PodList{}
			if err := w.client.List(w.Context(), list, client.InNamespace(w.namespace)); err == nil {
				x.note(list.Items)
			}
		}
	}()
	w.Cleanup(func() { close(stop); <-done })
	return x
}

// surgesWhileItIsScaled is a rollout with surge, most of whose Pods the partition holds back, while an autoscaler changes
// the replicas.
func surgesWhileItIsScaled(w cloneSets) {
	w.apply(steadySet)
	w.settled("steady", inFull(8))
	seen := w.observe()
	scale := func(n string) func() { return func() { w.kubectl("scale", "clone", "steady", "--replicas="+n) } }
	for _, step := range []struct {
		name         string
		do           func()
		old, updated int32
		most, fewest int
	}{
		{"updating", func() { w.setImage("steady", "bank.test/web:v2") }, 6, 2, 10, 8},
		{"scaling out", scale("10"), 6, 4, 10, 8},
		{"scaling in", scale("7"), 6, 1, 10, 7},
		{"lowering the partition", func() { w.patch("steady", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":"50%"}}}}`) }, 4, 3, 9, 7},
	} {
		step.do()
		total := step.old + step.updated
		w.settled("steady", counts{total, total, total, step.updated})
		w.holdsImages(map[string]int32{"bank.test/web:v1": step.old, "bank.test/web:v2": step.updated})
		if got := w.read("steady").Status.ExpectedUpdatedReplicas; got != step.updated {
			w.Errorf("%s: expectedUpdatedReplicas is %d, want %d", step.name, got, step.updated)
		}
		if e := seen.reset(); e.most > step.most || e.fewest < step.fewest {
			w.Errorf("%s: at most %d Pods and at least %d ready were seen, want %d and %d", step.name, e.most, e.fewest, step.most, step.fewest)
		}
	}
	if line := strings.Fields(w.kubectl("get", "clone", "steady", "--no-headers")); len(line) < 6 || strings.Join(line[1:6], " ") != "7 3 3 3 7" {
		w.Errorf("kubectl get prints %q, want 7 3 3 3 7 after the name", line)
	}
	if got := w.kubectl("get", "clone", "steady", "--subresource=scale", "-o", "jsonpath={.status.selector} {.status.replicas}"); got != "app=steady 7" {
		w.Errorf("the scale says %q", got)
	}
}

func (w cloneSets) holdsImages(want map[string]int32) {
	w.Helper()
	got := map[string]int32{}
	for _, pod := range w.pods() {
		got[pod.Spec.Containers[0].Image]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("the Pods have images %v, want %v", got, want)
	}
}

// staysWithinMaxUnavailable through steps of a partition, in place, with a pause and a broken image in between.
func staysWithinMaxUnavailable(w cloneSets) {
	w.apply(strings.NewReplacer("steady", "bounded", "replicas: 8", "replicas: 5",
		"{type: ReCreate, partition: 6, maxSurge: 50%, maxUnavailable: 0}", "{type: InPlaceIfPossible, partition: 3, maxUnavailable: 2}").Replace(steadySet))
	w.settled("bounded", inFull(5))
	seen := w.observe()
	partition := func(value string) {
		w.patch("bounded", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":`+value+`}}}}`)
	}
	w.setImage("bounded", "bank.test/web:v2")
	w.settled("bounded", counts{5, 5, 5, 2})
	partition(`"20%"`)
	w.settled("bounded", counts{5, 5, 5, 4})
	w.patch("bounded", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0,"paused":true}}}}`)
	w.settled("bounded", counts{5, 5, 5, 4})
	if e := seen.reset(); e.most != 5 || e.fewest < 3 {
		w.Errorf("at most %d Pods and at least %d ready were seen, want 5 and 3", e.most, e.fewest)
	}
	w.setImage("bounded", "bank.test/web:none")
	w.patch("bounded", `{"spec":{"updateStrategy":{"rollingUpdate":{"paused":false}}}}`)
	w.settled("bounded", counts{5, 3, 3, 2})
	time.Sleep(5 * time.Second)
	w.settled("bounded", counts{5, 3, 3, 2})
	w.setImage("bounded", "bank.test/web:v2")
	w.settled("bounded", inFull(5))
	if e := seen.reset(); e.most != 5 || e.fewest < 3 {
		w.Errorf("a broken image: at most %d Pods and at least %d ready were seen, want 5 and 3", e.most, e.fewest)
	}
}

const autoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: steady}
spec:
  scaleTargetRef: {apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: steady}
  minReplicas: 3
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`

// clientsScale in both versions. A HorizontalPodAutoscaler keeps its minimum without any figures.
func clientsScale(w cloneSets) {
	w.apply(strings.Replace(steadySet, "replicas: 8", "replicas: 1", 1))
	w.settled("steady", inFull(1))
	for _, resource := range []string{"clone", "clonesets.v1beta1.apps.kruise.io"} {
		w.kubectl("scale", resource, "steady", "--replicas=2")
		w.settled("steady", inFull(2))
		w.kubectl("scale", resource, "steady", "--replicas=1", "--current-replicas=2")
		w.settled("steady", inFull(1))
	}
	w.kubectl("delete", "pod", w.pods()[0].Name)
	w.settled("steady", inFull(1))
	w.apply(autoscaler)
	w.settled("steady", inFull(3))
	w.until(func() string {
		if got := w.kubectl("get", "hpa", "steady", "-o", `jsonpath={.status.conditions[?(@.type=="AbleToScale")].status}`); got != "True" {
			return "AbleToScale of the HorizontalPodAutoscaler is " + got
		}
		return ""
	})
}
