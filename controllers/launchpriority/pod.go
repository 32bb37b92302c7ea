// Package launchpriority starts the containers of a Pod in the order of their priorities (more-controllers.md §1).
// Admission made every container wait for a key of the ConfigMap <pod>-barrier; this controller adds the keys, the
// highest priority's first and the next one's when all containers before it are ready, or have done their work. Only the
// first start is ordered.
package launchpriority

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// configMapName is that of the Pod's barrier.
func configMapName(pod *corev1.Pod) string { return pod.Name + v1beta1.ContainerLaunchBarrierSuffix }

// keyOf is the barrier's key for a priority.
func keyOf(priority int64) string {
	return v1beta1.ContainerLaunchBarrierKeyPrefix + strconv.FormatInt(priority, 10)
}

func priorityOf(key string) (int64, bool) {
	text, ok := strings.CutPrefix(key, v1beta1.ContainerLaunchBarrierKeyPrefix)
	if !ok {
		return 0, false
	}
	priority, err := strconv.ParseInt(text, 10, 64)
	return priority, err == nil
}

// barrierOf is the priority whose key a container waits for, if it waits for one of its Pod's barrier.
func barrierOf(pod *corev1.Pod, c *corev1.Container) (priority int64, ok bool) {
	i := slices.IndexFunc(c.Env, isBarrier)
	if i < 0 {
		return 0, false
	}
	from := c.Env[i].ValueFrom
	if from == nil || from.ConfigMapKeyRef == nil || from.ConfigMapKeyRef.Name != configMapName(pod) {
		return 0, false
	}
	return priorityOf(from.ConfigMapKeyRef.Key)
}

func isBarrier(env corev1.EnvVar) bool { return env.Name == v1beta1.ContainerLaunchBarrierEnv }

// hasBarrier tells whether any container waits for the barrier.
func hasBarrier(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		_, ok := barrierOf(pod, &c)
		return ok
	})
}

// waiting is the priorities of the containers that have a barrier and are neither ready nor finished, in ascending order.
// A container without a status has not been started, and so is not ready.
func waiting(pod *corev1.Pod) []int64 {
	var priorities []int64
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if priority, ok := barrierOf(pod, c); ok && !isReady(pod, c.Name) && !isFinished(pod, c) {
			priorities = append(priorities, priority)
		}
	}
	slices.Sort(priorities)
	return priorities
}

func isReady(pod *corev1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == container && s.Ready
	})
}

// isFinished tells whether a container has succeeded and will not be restarted, as those of Jobs do: it will never be
// ready, and may have been so for less than a look. One that failed for good is not: what comes after it counts on it.
func isFinished(pod *corev1.Pod, c *corev1.Container) bool {
	restarted := pod.Spec.RestartPolicy != corev1.RestartPolicyNever && pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure
	if c.RestartPolicy != nil {
		restarted = *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	if restarted || len(c.RestartPolicyRules) > 0 { // a rule may restart it after any exit code
		return false
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == c.Name && s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
	})
}

// isOver tells whether nothing will be started in the Pod any more, or all was.
func isOver(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil ||
		pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
		pod.Annotations[v1beta1.ContainerLaunchPriorityCompletedAnnotation] == "true"
}

// mayWait is the event filter: whether the Pod may need us, as far as the Pod alone tells. Pods send many events
// when a node is busy, and almost all of them end here.
func mayWait(pod *corev1.Pod) bool {
	return !isOver(pod) && !containersReady(pod) && len(waiting(pod)) > 0
}

func containersReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.ContainersReady && c.Status == corev1.ConditionTrue
	})
}

// Keep takes what this controller reads of a Pod into the cache: of a Pod without barriers nothing.
func Keep(kept, pod *corev1.Pod) {
	if !hasBarrier(pod) {
		return
	}
	kept.Spec.RestartPolicy = pod.Spec.RestartPolicy
	kept.Status.Phase = pod.Status.Phase
	if done, ok := pod.Annotations[v1beta1.ContainerLaunchPriorityCompletedAnnotation]; ok {
		kept.Annotations = map[string]string{v1beta1.ContainerLaunchPriorityCompletedAnnotation: done}
	}
	for _, c := range pod.Spec.Containers {
		if i := slices.IndexFunc(c.Env, isBarrier); i >= 0 {
			kept.Spec.Containers = append(kept.Spec.Containers, corev1.Container{
				Name: c.Name, Env: []corev1.EnvVar{c.Env[i]}, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules,
			})
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		status := corev1.ContainerStatus{Name: s.Name, Ready: s.Ready}
		if ended := s.State.Terminated; ended != nil {
			status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: ended.ExitCode}
		}
		kept.Status.ContainerStatuses = append(kept.Status.ContainerStatuses, status)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.ContainersReady {
			kept.Status.Conditions = append(kept.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status})
		}
	}
}
