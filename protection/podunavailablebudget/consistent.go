package podunavailablebudget

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
)

// Consistent tells whether the containers run what the spec says (protection.md §4.2). Between a change of an image and the
// kubelet's restart of the container the Pod still looks Ready.
func Consistent(pod *corev1.Pod) bool {
	all := true
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		_, digest, pinned := strings.Cut(container.Image, "@")
		all = all && pinned
		if status := statusOf(pod, container.Name); pinned && (status == nil || digestOf(status.ImageID) != digest) {
			return false
		}
	}
	return all || sidecarsConsistent(pod) && inplace.Complete(pod)
}

// digestOf is what follows the @ of an image ID such as docker-pullable://repository@sha256:....
func digestOf(imageID string) string {
	_, digest, _ := strings.Cut(imageID, "@")
	return digest
}

// sidecarsConsistent tells whether injected containers that their SidecarSets changed in place run the changed image
// (sidecarset.md §6.5).
func sidecarsConsistent(pod *corev1.Pod) bool {
	text, updated := pod.Annotations[v1beta1.SidecarSetInPlaceUpdateState]
	if !updated {
		return true
	}
	var sets map[string]struct {
		LastContainerStatuses map[string]struct {
			ImageID string `json:"imageID"`
		} `json:"lastContainerStatuses"`
	}
	if err := json.Unmarshal([]byte(text), &sets); err != nil {
		return true // what nobody can read will not change, and must not take the Pod's protection for good
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if !injected(container) {
			continue
		}
		status := statusOf(pod, container.Name)
		for _, set := range sets {
			if before, changed := set.LastContainerStatuses[container.Name]; changed && !replaced(container, status, before.ImageID) {
				return false
			}
		}
	}
	return true
}

// replaced tells whether a container that had an image before has the one of its spec now.
func replaced(container *corev1.Container, status *corev1.ContainerStatus, before string) bool {
	return status != nil && (status.ImageID != before || status.Image == container.Image)
}

func injected(container *corev1.Container) bool {
	return slices.ContainsFunc(container.Env, func(env corev1.EnvVar) bool {
		return env.Name == v1beta1.SidecarInjectedEnv && env.Value == "true"
	})
}

func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &pod.Status.ContainerStatuses[i]
}
