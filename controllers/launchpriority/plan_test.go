package launchpriority

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPlan(t *testing.T) {
	deleting := barrierOwned("pod-1", "p_2")
	deleting.DeletionTimestamp = &metav1.Time{}
	tests := []struct {
		name    string
		pod     *corev1.Pod
		barrier *corev1.ConfigMap
		want    Plan
	}{
		{"nothing yet: the highest may start", podOf(2, 1, 0), nil, Plan{Write: Create, Key: "p_2"}},
		{"the order of containers does not matter", podOf(-1, 7, 3), nil, Plan{Write: Create, Key: "p_7"}},
		{"all of one priority: one key is all", podOf(3, 3), nil, Plan{Write: Create, Key: "p_3", Complete: true}},
		{"the highest has not become ready", with(podOf(2, 1, 0), unready("c0")), barrierOwned("pod-1", "p_2"), Plan{}},
		{"the highest is ready", with(podOf(2, 1, 0), ready("c0")), barrierOwned("pod-1", "p_2"), Plan{Write: Open, Key: "p_1"}},
		{"one of two equals is not ready", with(podOf(2, 2, 0), ready("c0")), barrierOwned("pod-1", "p_2"), Plan{}},
		{"both equals are ready: the last key completes", with(podOf(2, 2, 0), ready("c0", "c1")), barrierOwned("pod-1", "p_2"), Plan{Write: Open, Key: "p_0", Complete: true}},
		{"the last key is there, its mark is not", with(podOf(1, 0), ready("c0")), barrierOwned("pod-1", "p_1", "p_0"), Plan{Complete: true}},
		{"all ready", with(podOf(1, 0), ready("c0", "c1")), barrierOwned("pod-1", "p_1", "p_0"), Plan{Complete: true}},
		{"all ready, the ConfigMap is gone", with(podOf(1, 0), ready("c0", "c1")), nil, Plan{Complete: true}},
		{"negative priorities", with(podOf(0, -1, -2), ready("c0")), barrierOwned("pod-1", "p_0"), Plan{Write: Open, Key: "p_-1"}},
		{"an opened container fell back: nothing is closed, nothing more is opened", with(podOf(2, 1, 0), unready("c0")), barrierOwned("pod-1", "p_2", "p_1"), Plan{}},
		{"the ConfigMap was deleted on the way", with(podOf(2, 1, 0), ready("c0")), nil, Plan{Write: Create, Key: "p_1"}},
		{"... and a started container needs its key again", with(podOf(2, 1, 0), unready("c0")), barrierOwned("pod-1", "p_1"), Plan{Write: Open, Key: "p_2"}},
		{"a container without barrier does not count", with(podOf(1, 0), func(p *corev1.Pod) { p.Spec.Containers[0].Env = nil }), nil, Plan{Write: Create, Key: "p_0", Complete: true}},
		{"a finished container will not be ready", with(podOf(2, 1, 0), restarts(corev1.RestartPolicyNever), ended("c0", 0)), barrierOwned("pod-1", "p_2"), Plan{Write: Open, Key: "p_1"}},
		{"... with OnFailure too", with(podOf(1, 0), restarts(corev1.RestartPolicyOnFailure), ended("c0", 0)), barrierOwned("pod-1", "p_1"), Plan{Write: Open, Key: "p_0", Complete: true}},
		{"... and all finished", with(podOf(1, 0), restarts(corev1.RestartPolicyNever), ended("c0", 0), ended("c1", 0)), barrierOwned("pod-1", "p_1", "p_0"), Plan{Complete: true}},
		{"a failed container holds what comes after it", with(podOf(2, 1), restarts(corev1.RestartPolicyNever), ended("c0", 1)), barrierOwned("pod-1", "p_2"), Plan{}},
		{"a container that is started again may become ready", with(podOf(2, 1), restarts(corev1.RestartPolicyAlways), ended("c0", 0)), barrierOwned("pod-1", "p_2"), Plan{}},
		{"a Pod always restarts unless it says otherwise", with(podOf(2, 1), ended("c0", 0)), barrierOwned("pod-1", "p_2"), Plan{}},
		{"a container's own policy counts more", with(podOf(2, 1), restarts(corev1.RestartPolicyAlways), ended("c0", 0), c0Restarts(corev1.ContainerRestartPolicyNever)), barrierOwned("pod-1", "p_2"), Plan{Write: Open, Key: "p_1", Complete: true}},
		{"... also when it restarts", with(podOf(2, 1), restarts(corev1.RestartPolicyNever), ended("c0", 0), c0Restarts(corev1.ContainerRestartPolicyAlways)), barrierOwned("pod-1", "p_2"), Plan{}},
		{"... or may restart by a rule", with(podOf(2, 1), ended("c0", 0), c0Restarts(corev1.ContainerRestartPolicyNever, corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleActionRestart})), barrierOwned("pod-1", "p_2"), Plan{}},
		{"no barrier at all", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}, nil, Plan{}},
		{"a barrier of another Pod's ConfigMap is not ours to open", with(podOf(1), func(p *corev1.Pod) { p.Spec.Containers[0].Env[1] = barrierEnv("old-barrier", "p_1") }), nil, Plan{}},
		{"a key that is no priority", with(podOf(1), func(p *corev1.Pod) { p.Spec.Containers[0].Env[1] = barrierEnv("web-barrier", "p_high") }), nil, Plan{}},
		{"a literal of that name", with(podOf(1), func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "KRUISE_CONTAINER_BARRIER", Value: "x"}}
		}), nil, Plan{}},
		{"the ConfigMap is being deleted", podOf(2, 1), deleting, Plan{Write: Await}},
		{"an older Pod's keys open nothing", podOf(2, 1), barrierOwned("pod-0", "p_2", "p_1"), Plan{Write: TakeOver, Key: "p_2", Stale: []string{"p_1"}}},
		{"an older Pod's keys of other priorities go", podOf(2, 1), barrierOwned("pod-0", "p_5", "p_-3", "note"), Plan{Write: TakeOver, Key: "p_2", Stale: []string{"p_-3", "p_5"}}},
		{"a restored barrier has no owner", podOf(2, 1), configMap("p_2", "p_1"), Plan{Write: TakeOver, Key: "p_2", Stale: []string{"p_1"}}},
		{"another's ConfigMap is added to", podOf(2, 1), configMap("settings"), Plan{Write: Open, Key: "p_2"}},
		{"another's ConfigMap with the keys", podOf(2, 1), configMap("settings", "p_2", "p_1"), Plan{Complete: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, plan(tt.pod, tt.barrier)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHolders(t *testing.T) {
	owned := func(owners ...metav1.OwnerReference) *corev1.ConfigMap {
		barrier := configMap("p_1")
		barrier.OwnerReferences = owners
		return barrier
	}
	older := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "pod-0"}
	own := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "pod-1"}
	set := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs"}
	immutable := configMap("p_1")
	immutable.Immutable = new(bool)
	*immutable.Immutable = true
	binary := configMap("p_1")
	binary.BinaryData = map[string][]byte{"p_1": {1}}
	tests := []struct {
		name    string
		barrier *corev1.ConfigMap
		want    holder
	}{
		{"the Pod's", owned(own), self},
		{"the Pod's and another's", owned(set, own), self},
		{"an older Pod's", owned(older), predecessor},
		{"an older Pod's and another's", owned(older, set), other},
		{"another Pod's", owned(metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "web-1", UID: "x"}), other},
		{"a kind called Pod of another group", owned(metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "Pod", Name: "web", UID: "x"}), other},
		{"no owner, only our keys", owned(), predecessor},
		{"no owner, empty", configMap(), predecessor},
		{"no owner, other keys too", configMap("p_1", "p_x"), other},
		{"no owner, immutable", immutable, other},
		{"no owner, binary data", binary, other},
		{"none", nil, nobody},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := holderOf(podOf(1), tt.barrier); got != tt.want {
				t.Errorf("holder is %d, want %d", got, tt.want)
			}
		})
	}
}

func TestEventFilter(t *testing.T) {
	plain := podOf(1, 0)
	for i := range plain.Spec.Containers {
		plain.Spec.Containers[i].Env = nil
	}
	tests := []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"new", podOf(1, 0), true},
		{"on its way", with(podOf(1, 0), ready("c0"), phase(corev1.PodPending), containersReadyIs(corev1.ConditionFalse)), true},
		{"completed", with(podOf(1, 0), annotated("true")), false},
		{"not completed, said outright", with(podOf(1, 0), annotated("false")), true},
		{"all containers ready", with(podOf(1, 0), containersReadyIs(corev1.ConditionTrue)), false},
		{"all with a barrier ready", with(podOf(1, 0), ready("c0", "c1")), false},
		{"terminating", with(podOf(1, 0), terminating), false},
		{"failed", with(podOf(1, 0), phase(corev1.PodFailed)), false},
		{"succeeded", with(podOf(1, 0), phase(corev1.PodSucceeded)), false},
		{"no barriers", plain, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mayWait(tt.pod); got != tt.want {
				t.Errorf("the event passes: %v, want %v", got, tt.want)
			}
		})
	}
}
