package podunavailablebudget

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/controllers/podcache"
	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// What the controller makes of a Pod is the same from the cache, also from one that was kept twice.
func TestTheCacheKeepsWhatMatters(t *testing.T) {
	transform := podcache.Transform(Keep)
	for name, whole := range map[string]*corev1.Pod{
		"told":    pod("a"),
		"unready": pod("a", unready),
		"none":    pod("a", func(p *corev1.Pod) { p.Annotations = nil }),
		"digest": pod("a", func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i@sha256:a"}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", ImageID: "i@sha256:b"}}
		}),
		"grace": pod("a", func(p *corev1.Pod) { p.Annotations["apps.kruise.io/inplace-update-grace"] = "{}" }),
		"owned": pod("a", owned("apps/v1", "ReplicaSet", "rs")),
	} {
		once, err := transform(whole.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		twice, err := transform(once)
		if err != nil {
			t.Fatal(err)
		}
		kept := twice.(*corev1.Pod)
		if matters(whole, kept) || pub.Available(kept) != pub.Available(whole) || len(byController(kept)) != len(byController(whole)) {
			t.Errorf("%s: of %+v it keeps %+v", name, whole, kept)
		}
	}
}
