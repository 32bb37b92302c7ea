package launchpriority

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// anyPod draws a Pod as it may come: new, restored from elsewhere, or already admitted and changed by another webhook.
func anyPod(t *rapid.T) *corev1.Pod {
	names := []string{"KRUISE_CONTAINER_PRIORITY", "KRUISE_CONTAINER_BARRIER", "OTHER"}
	values := []string{"", "0", "1", "-1", "2147483647", "high", "007"}
	pod := newPod(rapid.SampledFrom([]string{"", "multi"}).Draw(t, "name"))
	pod.GenerateName = rapid.SampledFrom([]string{"", "web-"}).Draw(t, "generateName")
	pod.Annotations = map[string]string{
		ordered: rapid.SampledFrom([]string{"", "Ordered", "ordered"}).Draw(t, "annotation"),
		done:    rapid.SampledFrom([]string{"", "true", "false"}).Draw(t, "completed"),
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "containers") {
		c := corev1.Container{Name: fmt.Sprintf("c%d", i)}
		for range rapid.IntRange(0, 3).Draw(t, "envs") {
			env := corev1.EnvVar{Name: rapid.SampledFrom(names).Draw(t, "env"), Value: rapid.SampledFrom(values).Draw(t, "value")}
			if rapid.Bool().Draw(t, "indirect") {
				env.Value = ""
				env.ValueFrom = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
					LocalObjectReference: corev1.LocalObjectReference{Name: rapid.SampledFrom([]string{"multi-barrier", "old-barrier"}).Draw(t, "configMap")},
					Key:                  rapid.SampledFrom([]string{"p_0", "p_1"}).Draw(t, "key"),
				}}
			}
			c.Env = append(c.Env, env)
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	return pod
}

func TestAdmittedPodsAreFixedPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(anyPod(t))
		if err != nil {
			t.Fatal(err)
		}
		first := chain().Handle(t.Context(), create(string(raw)))
		if !first.Allowed {
			return
		}
		once := apply(t, string(raw), first.Patch)
		second := chain().Handle(t.Context(), create(string(once)))
		if !second.Allowed || second.Patch != nil {
			t.Fatalf("admitting it twice changes it again: %s %v", second.Patch, second.Status)
		}
	})
}

// A patched Pod waits for keys of its own ConfigMap only, in every container, and nothing but barriers, the name and
// the completed annotation was changed.
func TestPatchedPodsWaitForTheirOwnConfigMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := anyPod(t)
		raw, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		response := chain().Handle(t.Context(), create(string(raw)))
		if response.Patch == nil {
			return
		}
		var got corev1.Pod
		if err := json.Unmarshal(apply(t, string(raw), response.Patch), &got); err != nil {
			t.Fatal(err)
		}
		for i, c := range got.Spec.Containers {
			waits := 0
			for _, env := range c.Env {
				if env.Name != "KRUISE_CONTAINER_BARRIER" {
					continue
				}
				waits++
				if env.ValueFrom == nil || env.ValueFrom.ConfigMapKeyRef.Name != got.Name+"-barrier" {
					t.Fatalf("container %d waits for %+v", i, env)
				}
			}
			if waits == 0 {
				t.Fatalf("container %d does not wait", i)
			}
		}
		if diff := cmp.Diff(withoutBarriers(pod), withoutBarriers(&got)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func withoutBarriers(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Name = ""
	delete(pod.Annotations, done)
	for i := range pod.Spec.Containers {
		var kept []corev1.EnvVar
		for _, env := range pod.Spec.Containers[i].Env {
			if env.Name != "KRUISE_CONTAINER_BARRIER" {
				kept = append(kept, env)
			}
		}
		pod.Spec.Containers[i].Env = kept
	}
	return pod
}

func FuzzMutatePod(f *testing.F) {
	f.Add(`{"metadata":{"generateName":"w-"},"spec":{"containers":[{"env":[{"name":"KRUISE_CONTAINER_PRIORITY","value":"1"}]},{}]}}`)
	f.Add(`{"metadata":{"name":"p","annotations":{"apps.kruise.io/container-launch-priority":"Ordered"}},"spec":{"containers":[{"env":null},{"env":[null,{"name":"KRUISE_CONTAINER_BARRIER","valueFrom":{"configMapKeyRef":{"name":"x"}}}]}]}}`)
	f.Add(`{"spec":{"containers":[{"env":[{"name":"\u004bRUISE_CONTAINER_PRIORITY","value":"1"}]},{}]},"metadata":{"name":"p"}}`)
	f.Add(`{"metadata":{"name":"p"},"spec":{"containers":[{"env":[{"name":"KRUISE_CONTAINER_PRIORITY","value":1}]},{"env":["KRUISE_CONTAINER_PRIORITY"]}]}}`)
	f.Add(`{"metadata":{"name":"0","annotations":{"apps.kruise.io/container-launch-priority":"Ordered"}},"spec":{"containers":[{},{"env":[{"name":{}}]}]}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		first := chain().Handle(t.Context(), create(raw))
		if first.Fault != 0 {
			t.Fatalf("a Pod as sent is a fault of ours: %+v", first.Status)
		}
		if first.Patch == nil {
			return
		}
		second := chain().Handle(t.Context(), create(string(apply(t, raw, first.Patch))))
		// What is no Pod is found out only where the mutator looks, and it looks closer at barriers that are there.
		malformed := second.Status != nil && second.Status.Code == 400
		if second.Patch != nil || !second.Allowed && !malformed {
			t.Fatalf("admitting it twice changes it again: %s %v", second.Patch, second.Status)
		}
	})
}
