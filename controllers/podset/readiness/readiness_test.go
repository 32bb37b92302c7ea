package readiness

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/controllers/podset/patched"
)

var (
	before = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now    = before.Add(time.Hour)
)

// gated is a Pod in service.
func gated(conditions ...corev1.PodCondition) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "5"},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "InPlaceUpdateReady"}, {ConditionType: "KruisePodReady"}}},
	}
	pod.Status.Conditions = append([]corev1.PodCondition{
		condition("InPlaceUpdateReady", "True", ""), condition("KruisePodReady", "True", ""),
		condition("ContainersReady", "True", ""), condition("Ready", "True", ""),
	}, conditions...)
	for _, c := range conditions {
		i := slices.IndexFunc(pod.Status.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type })
		if i < 4 {
			pod.Status.Conditions[i] = c
		}
	}
	pod.Status.Conditions = pod.Status.Conditions[:4]
	return pod
}

func condition(conditionType, status, message string) corev1.PodCondition {
	return corev1.PodCondition{
		Type: corev1.PodConditionType(conditionType), Status: corev1.ConditionStatus(status), Message: message, LastTransitionTime: metav1.NewTime(before),
	}
}

// sent is what the API server makes of the Pod's conditions.
func sent(t *testing.T, pod *corev1.Pod, conditions []corev1.PodCondition) *corev1.Pod {
	t.Helper()
	return patched.Pod(t, pod, Patch(pod, conditions, true))
}

// states are status, reason and message of each condition.
func states(pod *corev1.Pod) map[string][]string {
	all := map[string][]string{}
	for _, c := range pod.Status.Conditions {
		at := "before"
		if c.LastTransitionTime.Time.Equal(now) {
			at = "now"
		}
		all[string(c.Type)] = []string{string(c.Status), c.Reason, c.Message, at}
	}
	return all
}

const preUpdate = `[{"userAgent":"Lifecycle","key":"preUpdateHook"}]`

func TestHoldAndRelease(t *testing.T) {
	pod := gated()
	held := sent(t, pod, Hold(pod, PreUpdate, now))
	want := states(pod)
	want["KruisePodReady"] = []string{"False", "", preUpdate, "now"}
	want["Ready"] = []string{"False", "ReadinessGatesNotReady", `the status of pod readiness gate "KruisePodReady" is not "True", but False`, "now"}
	if diff := cmp.Diff(want, states(held)); diff != "" {
		t.Fatal(diff)
	}
	if again := Hold(held, PreUpdate, now); again != nil {
		t.Errorf("holding again writes %v", again)
	}
	both := sent(t, held, Hold(held, PreDelete, now.Add(time.Hour)))
	want["KruisePodReady"] = []string{"False", "", `[{"userAgent":"Lifecycle","key":"preDeleteHook"},{"userAgent":"Lifecycle","key":"preUpdateHook"}]`, "now"}
	if diff := cmp.Diff(want, states(both)); diff != "" {
		t.Fatal(diff)
	}
	if none := Release(held, now, PreDelete); none != nil {
		t.Errorf("releasing what is not held writes %v", none)
	}
	free := sent(t, held, Release(held, now, PreUpdate, PreDelete))
	want["KruisePodReady"] = []string{"True", "", "[]", "now"}
	if diff := cmp.Diff(want, states(free)); diff != "" {
		t.Error(diff)
	}
}

func TestOthersKeysStay(t *testing.T) {
	pod := gated(condition("KruisePodReady", "False", `[{"userAgent":"ContainerRecreateRequest","key":"ns/a"},{"userAgent":"Lifecycle","key":"preUpdateHook"}]`))
	free := sent(t, pod, Release(pod, now, PreUpdate))
	if diff := cmp.Diff([]string{"False", "", `[{"userAgent":"ContainerRecreateRequest","key":"ns/a"}]`, "before"}, states(free)["KruisePodReady"]); diff != "" {
		t.Error(diff)
	}
}

func TestAFirstKeyIsWrittenAsFalse(t *testing.T) {
	pod := gated()
	pod.Status.Conditions = pod.Status.Conditions[2:]
	got := Hold(pod, PreDelete, now)
	if len(got) != 2 || got[0].Status != corev1.ConditionFalse || got[0].LastTransitionTime.Time != now {
		t.Errorf("without a condition, holding writes %+v", got)
	}
}

func TestWithoutTheGateNothingIsWritten(t *testing.T) {
	pod := gated(condition("KruisePodReady", "False", preUpdate))
	pod.Spec.ReadinessGates = nil
	for name, got := range map[string][]corev1.PodCondition{
		"hold": Hold(pod, PreDelete, now), "release": Release(pod, now, PreUpdate), "close": CloseForUpdate(pod, now),
		"open": OpenAfterUpdate(pod, now), "first": First(&corev1.Pod{}, now),
	} {
		if got != nil {
			t.Errorf("%s writes %v", name, got)
		}
	}
}

func TestCloseAndOpen(t *testing.T) {
	pod := gated()
	if got := OpenAfterUpdate(pod, now); got != nil {
		t.Errorf("opening what is open writes %v", got)
	}
	closed := sent(t, pod, CloseForUpdate(pod, now))
	want := states(pod)
	want["InPlaceUpdateReady"] = []string{"False", "StartInPlaceUpdate", "", "now"}
	want["Ready"] = []string{"False", "ReadinessGatesNotReady", `the status of pod readiness gate "InPlaceUpdateReady" is not "True", but False`, "now"}
	if diff := cmp.Diff(want, states(closed)); diff != "" {
		t.Fatal(diff)
	}
	if again := CloseForUpdate(closed, now); len(again) == 0 {
		t.Error("a Pod that shows the gate closed is not closed again: the cache may be old")
	}
	open := sent(t, closed, OpenAfterUpdate(closed, now))
	want["InPlaceUpdateReady"] = []string{"True", "", "", "now"}
	if diff := cmp.Diff(want, states(open)); diff != "" {
		t.Error(diff)
	}
	if got := First(gated(), now); got != nil {
		t.Errorf("a condition that is there is set to %v", got)
	}
}

// TestWhatElseIsSaidOfAnOpenGateGoes has the condition be True, with a reason or a message that OpenKruise or a person left.
func TestWhatElseIsSaidOfAnOpenGateGoes(t *testing.T) {
	reason := condition("InPlaceUpdateReady", "True", "")
	reason.Reason = "StartInPlaceUpdate"
	for _, c := range []corev1.PodCondition{reason, condition("InPlaceUpdateReady", "True", "by hand")} {
		pod := gated(c)
		open := sent(t, pod, OpenAfterUpdate(pod, now))
		if diff := cmp.Diff([]string{"True", "", "", "before"}, states(open)["InPlaceUpdateReady"]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReadyIsTheKubelets(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{
		"already False":            gated(condition("Ready", "False", "kubelet")),
		"containers are not ready": gated(condition("ContainersReady", "False", "")),
	} {
		if got := CloseForUpdate(pod, now); len(got) != 1 {
			t.Errorf("%s: writes %v", name, got)
		}
	}
}

// TestHoldersInAnyOrder checks that the Pod is held until each of several reasons is gone, in whatever order they
// come and go, and that its message is sorted.
func TestHoldersInAnyOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		pod, held := gated(), map[Key]bool{}
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			key := Key{UserAgent: rapid.SampledFrom([]string{"A", "B"}).Draw(r, "agent"), Key: rapid.SampledFrom([]string{"x", "y"}).Draw(r, "key")}
			if rapid.Bool().Draw(r, "hold") {
				pod, held[key] = sent(t, pod, Hold(pod, key, now)), true
			} else {
				pod = sent(t, pod, Release(pod, now, key))
				delete(held, key)
			}
			got := keysOf(&pod.Status.Conditions[slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == "KruisePodReady" })])
			if len(got) != len(held) || len(held) > 0 == (states(pod)["KruisePodReady"][0] == "True") {
				r.Fatalf("held by %v, the conditions are %v", held, states(pod))
			}
			for _, k := range got {
				if !held[k] {
					r.Fatalf("held by %v, which is over", k)
				}
			}
		}
	})
}
