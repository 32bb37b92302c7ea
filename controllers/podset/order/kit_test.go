package order

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

type edit func(*corev1.Pod)

// pod is a scheduled, running, ready Pod that nothing distinguishes.
func pod(name string, edits ...edit) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(start), Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: "node-" + name},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)},
		}},
	}
	for _, e := range edits {
		e(p)
	}
	return p
}

func on(node string) edit             { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
func inPhase(ph corev1.PodPhase) edit { return func(p *corev1.Pod) { p.Status.Phase = ph } }
func notReady(p *corev1.Pod)          { p.Status.Conditions[0].Status = corev1.ConditionFalse }
func costs(value string) edit {
	return func(p *corev1.Pod) { p.Annotations[corev1.PodDeletionCost] = value }
}
func label(key, value string) edit { return func(p *corev1.Pod) { p.Labels[key] = value } }
func readyAfter(d time.Duration) edit {
	return func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(start.Add(d)) }
}
func createdAfter(d time.Duration) edit {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(start.Add(d)) }
}
func restarted(n ...int32) edit {
	return func(p *corev1.Pod) {
		for _, r := range n {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{RestartCount: r})
		}
	}
}

func names(pods []*corev1.Pod) string {
	all := make([]string, len(pods))
	for i, p := range pods {
		all[i] = p.Name
	}
	return strings.Join(all, " ")
}

func expect(t *testing.T, what string, got []*corev1.Pod, want string) {
	t.Helper()
	if names(got) != want {
		t.Errorf("%s: order %s, want %s", what, names(got), want)
	}
}

func reversed(pods []*corev1.Pod) []*corev1.Pod {
	back := make([]*corev1.Pod, len(pods))
	for i, p := range pods {
		back[len(pods)-1-i] = p
	}
	return back
}
