package podstate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ready(ago time.Duration, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-ago))},
	}}}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func phase(p corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = p }
}

func state(s string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = map[string]string{"lifecycle.apps.kruise.io/state": s} }
}

func inPlace(status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "InPlaceUpdateReady", Status: status})
	}
}

func notReady(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }

func TestReadiness(t *testing.T) {
	for name, tt := range map[string]struct {
		pod                       *corev1.Pod
		ready, healthy, available bool
		wait                      time.Duration
	}{
		"long ready":          {ready(time.Hour), true, true, true, 0},
		"just in time":        {ready(30 * time.Second), true, true, true, 0},
		"too short":           {ready(25 * time.Second), true, true, false, 5 * time.Second},
		"not ready":           {ready(time.Hour, notReady), false, false, false, 0},
		"pending":             {ready(time.Hour, phase(corev1.PodPending)), false, false, false, 0},
		"no conditions":       {&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}, false, false, false, 0},
		"state Normal":        {ready(time.Hour, state("Normal")), true, true, true, 0},
		"state Updated":       {ready(time.Hour, state("Updated")), true, false, false, 0},
		"PreparingNormal":     {ready(time.Hour, state("PreparingNormal")), true, false, false, 0},
		"gate opened":         {ready(time.Hour, inPlace(corev1.ConditionTrue)), true, true, true, 0},
		"gate closed":         {ready(time.Hour, inPlace(corev1.ConditionFalse)), false, false, false, 0},
		"gate closed, no say": {ready(time.Hour, inPlace(corev1.ConditionUnknown)), false, false, false, 0},
	} {
		service := ServiceOf(tt.pod)
		available, wait := service.Available(30*time.Second, now)
		if service.Ready != tt.ready || service.Healthy != tt.healthy {
			t.Errorf("%s: its service is %v", name, service)
		}
		if Ready(tt.pod) != tt.ready || Healthy(tt.pod) != tt.healthy || available != tt.available || wait != tt.wait {
			t.Errorf("%s: ready %v, healthy %v, available %v in %s", name, Ready(tt.pod), Healthy(tt.pod), available, wait)
		}
	}
	if ok, _ := ServiceOf(ready(0)).Available(0, now); !ok {
		t.Error("without minReadySeconds a ready Pod is not available at once")
	}
}

func TestActive(t *testing.T) {
	terminating := ready(0)
	terminating.DeletionTimestamp = &metav1.Time{Time: now}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"running": {ready(0), true}, "pending": {ready(0, phase(corev1.PodPending)), true}, "no phase yet": {&corev1.Pod{}, true},
		"unknown": {ready(0, phase(corev1.PodUnknown)), true}, "failed": {ready(0, phase(corev1.PodFailed)), false},
		"succeeded": {ready(0, phase(corev1.PodSucceeded)), false}, "terminating": {terminating, false},
	} {
		if got := Active(tt.pod); got != tt.want {
			t.Errorf("%s: active is %v", name, got)
		}
	}
}

func TestSpecifiedDeleteIsThePresenceOfALabel(t *testing.T) {
	asked := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"apps.kruise.io/specified-delete": "false"}}}
	if !SpecifiedDelete(asked) || SpecifiedDelete(&corev1.Pod{}) {
		t.Error("the label's value decides, or its absence does not")
	}
}
