// Package patched has what an API server makes of a patch, for tests of those who write one.
package patched

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Pod is a Pod after a strategic merge patch.
func Pod(t testing.TB, pod *corev1.Pod, patch client.Patch) *corev1.Pod {
	t.Helper()
	data, err := patch.Data(pod)
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, data, &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	result := &corev1.Pod{}
	if err := json.Unmarshal(after, result); err != nil {
		t.Fatal(err)
	}
	return result
}
