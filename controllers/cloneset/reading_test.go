package cloneset

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// TestNothingIsToRefreshOnSettledPods compares with what is planned for the same Pods when each is looked at, by all hooks
// and in rollouts forth and back. Of Pods in service without hooks, all are settled.
func TestNothingIsToRefreshOnSettledPods(t *testing.T) {
	v1, v2 := at(t, "web:1", 1), at(t, "web:2", 2)
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, v1, v2)
		d.set.Spec.Lifecycle = rapid.SampledFrom([]*v1beta1.Lifecycle{
			nil, {}, {PreNormal: someHook()}, {PreDelete: someHook()}, {InPlaceUpdate: someHook()},
		}).Draw(t, "lifecycle")
		for _, pod := range d.seen.pods.Active {
			drawBookkeeping(t, pod)
		}
		p := &planner{set: d.set, seen: d.seen, now: start.Add(time.Hour), settings: d.settings, plan: &Plan{}}
		if err := p.findRevisions(); err != nil {
			t.Fatal(err)
		}
		p.classify()
		target, moving := p.target()
		p.plan.Wake = wake{}
		for i := range p.groups.members {
			m := &p.groups.members[i]
			if !m.settled {
				continue
			}
			if r := p.refresh(m, target, moving); !r.empty() || p.plan.Wake.after > 0 {
				t.Errorf("%s (%s, %s) is settled, but there is %v to do", m.pod.Name, m.state, m.revision, r)
			}
		}
	})
	if !read(podAt(v1, "a")).settled {
		t.Error("a Pod in service is looked at again and again")
	}
}

func someHook() *v1beta1.LifecycleHook {
	return &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}, MarkPodNotReady: true}
}

// drawBookkeeping gives a Pod some of what there may be to refresh.
func drawBookkeeping(t *rapid.T, pod *corev1.Pod) {
	some := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) == 0 }
	if some("hooked") {
		pod.Labels["hook"] = "on"
	}
	if some("hash") {
		delete(pod.Labels, templateHashLabel)
	}
	for _, gate := range []corev1.PodConditionType{v1beta1.InPlaceUpdateReady, v1beta1.KruisePodReady} {
		if some("gate") {
			pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		}
	}
	if some("closed") {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: v1beta1.InPlaceUpdateReady, Status: corev1.ConditionFalse})
	}
	if some("held") {
		held := rapid.SampledFrom([]string{"", "[]", `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`, `[{"userAgent":"Lifecycle","key":"preUpdateHook"}]`}).Draw(t, "keys")
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: v1beta1.KruisePodReady, Status: corev1.ConditionFalse, Message: held})
	}
	pod.Annotations = map[string]string{}
	for _, key := range []string{v1beta1.InPlaceUpdateStateAnnotation, v1beta1.InPlaceUpdateGraceAnnotation} {
		if some(key) {
			pod.Annotations[key] = rapid.SampledFrom([]string{
				"no state", `{}`, `{"revision":"` + pod.Labels[appsv1.ControllerRevisionHashLabelKey] + `","graceSeconds":7200,"updateTimestamp":"2026-01-01T00:00:00Z"}`,
				`{"lastContainerStatuses":{"main":{"imageID":"id"}}}`, `{"nextContainerImages":{"main":"web:3"}}`,
			}).Draw(t, "annotation")
		}
	}
}
