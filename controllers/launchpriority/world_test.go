package launchpriority

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/controllers/podcache"
)

// kubelet starts a container when its key exists, and has it become ready some time later.
type kubelet struct {
	started, ready map[string]bool
}

// start starts what may start, and fails if a container starts before one of a higher priority is ready.
func (k *kubelet) start(t *rapid.T, pod *corev1.Pod, barrier *corev1.ConfigMap) {
	for _, c := range pod.Spec.Containers {
		priority, _ := barrierOf(pod, &c)
		if barrier == nil || k.started[c.Name] {
			continue
		}
		if _, open := barrier.Data[keyOf(priority)]; !open {
			continue
		}
		k.started[c.Name] = true
		for _, before := range pod.Spec.Containers {
			if p, _ := barrierOf(pod, &before); p > priority && !k.ready[before.Name] {
				t.Fatalf("%s (priority %d) starts before %s (priority %d) is ready", c.Name, priority, before.Name, p)
			}
		}
	}
}

func (k *kubelet) waitingToBeReady() []string {
	var names []string
	for name := range k.started {
		if !k.ready[name] {
			names = append(names, name)
		}
	}
	return names
}

// Whatever fails, is lost or comes twice, containers start in order, all of them, and once the Pod is marked nothing is
// written any more.
func TestAnyLaunchIsInOrderAndEnds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		priorities := rapid.SliceOfN(rapid.Int64Range(-3, 3), 1, 5).Draw(r, "priorities")
		pod := podOf(priorities...)
		c := newCluster(pod.DeepCopy())
		if rapid.Bool().Draw(r, "barrierOfAnOlderPod") {
			c = newCluster(pod.DeepCopy(), barrierOwned("pod-0", "p_3", "p_0", "p_-1"))
		}
		faults := 0
		fault := func(kind string) func(int) error {
			return func(n int) error {
				if faults < 5 && rapid.IntRange(0, 3).Draw(r, kind) == 0 {
					faults++
					return errors.New("connection reset")
				}
				return nil
			}
		}
		c.fail, c.lose = fault("fails"), fault("responseLost")
		k := &kubelet{started: map[string]bool{}, ready: map[string]bool{}}
		first := true
		for range 24 {
			for range rapid.IntRange(0, 2).Draw(r, "events") {
				if _, err := c.reconcile(t.Context()); err == nil {
					first = false
				}
			}
			if !first { // until the Pod has been looked at once, an older Pod's barrier is still open
				k.start(r, pod, c.barrier(t))
			}
			if names := k.waitingToBeReady(); len(names) > 0 && rapid.Bool().Draw(r, "becomesReady") {
				k.ready[names[0]] = true
				c.setReady(t, names[0], true)
			}
		}
		finish(t, r, c, k, pod)
		if limit := distinct(priorities) + 1 + faults; len(c.writes) > limit {
			r.Fatalf("%d writes for %d priorities and %d faults: %v", len(c.writes), distinct(priorities), faults, c.writes)
		}
	})
}

// finish lets the launch end without faults.
func finish(t *testing.T, r *rapid.T, c *cluster, k *kubelet, pod *corev1.Pod) {
	c.fail, c.lose = nil, nil
	for range 2 * len(pod.Spec.Containers) {
		c.mustReconcile(t)
		k.start(r, pod, c.barrier(t))
		for _, name := range k.waitingToBeReady() {
			k.ready[name] = true
			c.setReady(t, name, true)
		}
	}
	c.mustReconcile(t)
	if len(k.ready) != len(pod.Spec.Containers) || c.pod(t).Annotations[done] != "true" {
		r.Fatalf("ready: %v, annotations: %v", k.ready, c.pod(t).Annotations)
	}
	before := len(c.writes)
	c.mustReconcile(t)
	if len(c.writes) != before {
		r.Fatal("a completed Pod is written to")
	}
}

func distinct(priorities []int64) int {
	set := map[int64]bool{}
	for _, p := range priorities {
		set[p] = true
	}
	return len(set)
}

// What the cache keeps of a Pod decides as the whole Pod does, however often it is transformed.
func TestTheCacheKeepsWhatMatters(t *testing.T) {
	transform := podcache.Transform(Keep)
	rapid.Check(t, func(r *rapid.T) {
		pod := podOf(rapid.SliceOfN(rapid.Int64Range(-1, 1), 0, 3).Draw(r, "priorities")...)
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "plain", Image: "x", Env: []corev1.EnvVar{{Name: "A"}}})
		for i := range pod.Spec.Containers {
			name := pod.Spec.Containers[i].Name
			switch rapid.IntRange(0, 3).Draw(r, "status of "+name) {
			case 1:
				with(pod, ready(name))
			case 2:
				with(pod, unready(name))
			case 3:
				with(pod, ended(name, rapid.Int32Range(0, 1).Draw(r, "exit code")))
			}
		}
		switch rapid.IntRange(0, 2).Draw(r, "policy of the first container") {
		case 1:
			with(pod, c0Restarts(corev1.ContainerRestartPolicyNever))
		case 2:
			with(pod, c0Restarts(corev1.ContainerRestartPolicyNever, corev1.ContainerRestartRule{}))
		}
		with(pod, restarts(rapid.SampledFrom([]corev1.RestartPolicy{"", corev1.RestartPolicyNever}).Draw(r, "restart policy")))
		with(pod, phase(rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed}).Draw(r, "phase")),
			annotated(rapid.SampledFrom([]string{"", "true", "false"}).Draw(r, "completed")),
			containersReadyIs(rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(r, "containersReady")))
		once, err := transform(pod.DeepCopy())
		if err != nil {
			r.Fatal(err)
		}
		twice, err := transform(once)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(once, twice); diff != "" {
			r.Fatal(diff)
		}
		kept := once.(*corev1.Pod)
		if mayWait(kept) != mayWait(pod) || hasBarrier(kept) != hasBarrier(pod) || hasBarrier(pod) && isOver(kept) != isOver(pod) {
			r.Fatalf("kept %+v", kept)
		}
		for _, barrier := range []*corev1.ConfigMap{nil, barrierOwned("pod-1", "p_1"), barrierOwned("pod-0", "p_1", "p_0")} {
			if diff := cmp.Diff(plan(pod, barrier), plan(kept, barrier)); diff != "" {
				r.Fatal(diff)
			}
		}
	})
}
