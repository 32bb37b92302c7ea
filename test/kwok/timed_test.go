package kwok

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// timed Pods are reported on as often as kubelets do, and not at once.
func (w *world) timed() {
	w.needs("1.34.0", "kubelets tell which generation of a Pod they report on")
	events, err := w.client.CoreV1().Pods(w.namespace).Watch(w.Context(), metav1.ListOptions{FieldSelector: "metadata.name=timed"})
	if err != nil {
		w.Fatal(err)
	}
	defer events.Stop()
	p := pod("timed", "bank.test/web:v1")
	p.Annotations = map[string]string{"bank.test/kubelet": "timed"}
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "a/gate"}}
	began := time.Now()
	w.create(p)
	w.await("timed", "in its sandbox", func(p *corev1.Pod) bool {
		return condition(p, corev1.PodReadyToStartContainers).Status == corev1.ConditionTrue
	})
	w.patch("timed", `{"status":{"conditions":[{"type":"a/gate","status":"True"}]}}`, "status")
	w.await("timed", "ready", ready)
	if took := time.Since(began); took < 1500*time.Millisecond {
		w.Errorf("it was ready after %v", took)
	}
	w.patch("timed", `{"spec":{"containers":[{"name":"c0","image":"bank.test/web:v2"}]}}`)
	w.await("timed", "restarted", func(p *corev1.Pod) bool { return container(p, "c0").RestartCount == 1 && ready(p) })
	if err := w.client.CoreV1().Pods(w.namespace).Delete(w.Context(), "timed", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	want := []string{
		"Pending", "Pending on a node", // created and bound
		"Pending, 1 waiting", "Pending, 1 waiting, sandbox", "Pending, 1 waiting, sandbox", // and the gate is opened in between
		"Running, v1, sandbox, ready",
		"Running, v1, sandbox, ready", // the image is changed
		"Running, v1 ended, sandbox", "Running, v2, sandbox, ready",
		"Running, v2, sandbox, ready", "Running, v2, sandbox, ready", // it is deleted, and that is seen
		"Succeeded, v2 ended", "Succeeded, v2 ended", "Succeeded, v2 ended, gone", // a deletion shows first without its grace
	}
	if diff := cmp.Diff(want, seen(events, len(want))); diff != "" {
		w.Error(diff)
	}
}

// seen describes the events of a Pod up to its end, of which about n are expected.
func seen(events watch.Interface, n int) []string {
	var all []string
	for event := range events.ResultChan() {
		p, isPod := event.Object.(*corev1.Pod)
		if !isPod {
			return append(all, fmt.Sprintf("%v", event.Object))
		}
		all = append(all, describe(p, event.Type))
		if event.Type == watch.Deleted || len(all) == 2*n {
			return all
		}
	}
	return all
}

func describe(p *corev1.Pod, event watch.EventType) string {
	text := string(p.Status.Phase)
	switch s := container(p, "c0"); {
	case s.State.Waiting != nil:
		text += ", 1 waiting"
	case s.State.Terminated != nil:
		text += ", " + s.Image[len("bank.test/web:"):] + " ended"
	case s.State.Running != nil:
		text += ", " + s.Image[len("bank.test/web:"):]
	case p.Spec.NodeName != "":
		text += " on a node"
	}
	if condition(p, corev1.PodReadyToStartContainers).Status == corev1.ConditionTrue {
		text += ", sandbox"
	}
	if ready(p) {
		text += ", ready"
	}
	if event == watch.Deleted {
		text += ", gone"
	}
	return text
}
