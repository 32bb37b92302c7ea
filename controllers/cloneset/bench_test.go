package cloneset

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// BenchmarkPlan is what a sync of an idle CloneSet, and one in the middle of a rollout, costs beside reading and writing.
func BenchmarkPlan(b *testing.B) {
	v1, v2 := at(b, "web:1", 1), at(b, "web:2", 2)
	for _, n := range []int{500, 5000} {
		for name, old := range map[string]int{"idle": 0, "rollout": n / 2} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				set := newSet(image("web:2"), replicas(int32(n)), inPlace, func(s *cloneSet) { s.Status.CurrentRevision = v1.Name })
				pods := make([]*corev1.Pod, n)
				for i := range pods {
					r := v2
					if i < old {
						r = v1
					}
					pods[i] = podAt(r, fmt.Sprintf("p%05d", i))
				}
				for b.Loop() {
					planFor(b, set, start, []*appsv1.ControllerRevision{v1, v2}, pods...)
				}
			})
		}
	}
}
