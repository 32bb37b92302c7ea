package podunavailablebudget

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/review"
)

// big has what Pods usually have.
func big(change ...func(*corev1.Pod)) *corev1.Pod {
	pod := available()
	for _, name := range strings.Fields("agent proxy logs") {
		container := corev1.Container{Name: name, Image: name + ":v1"}
		for range 20 {
			container.Env = append(container.Env, corev1.EnvVar{Name: "NAME", Value: strings.Repeat("value", 5)})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, Image: name + ":v1", ImageID: name})
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

// BenchmarkUpdate is what updates cost that take no unit, against a handler that does nothing.
func BenchmarkUpdate(b *testing.B) {
	known := NewIndex()
	if err := known.Put(budget(func(b *Budget) { b.Spec.ProtectOperations = []Operation{Evict} })); err != nil {
		b.Fatal(err)
	}
	judging := NewHandler(Admission{Checker: checker(&server{failure: errors.New("asked")}), Known: known, Deletes: true, Updates: true})
	noop := admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response { return admission.Allow() })
	labelled := func(p *corev1.Pod) { p.Labels["a"] = "b" }
	for _, bb := range []struct {
		name         string
		handler      admission.Handler
		old, updated *corev1.Pod
	}{
		{"no-op", noop, big(), big(labelled)},
		{"metadata", judging, big(), big(labelled)},
		{"unready", judging, big(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }), big(image)},
		{"unprotected", judging, big(), big(image)},
	} {
		body, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": map[string]any{
			"uid": "u", "operation": "UPDATE", "namespace": "shop", "name": "web-1", "resource": map[string]any{"version": "v1", "resource": "pods"},
			"kind": map[string]any{"version": "v1", "kind": "Pod"}, "oldObject": bb.old, "object": bb.updated,
		}})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				decoded, err := review.Decode(body)
				if err != nil {
					b.Fatal(err)
				}
				if response := bb.handler.Handle(b.Context(), decoded.Request); !response.Allowed {
					b.Fatalf("%+v", response.Status)
				}
			}
		})
	}
}
