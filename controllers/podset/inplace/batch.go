package inplace

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/runtimemeta"
)

// work is what is to be done to the containers of a Pod.
type work struct {
	images    map[string]string
	env       map[string]Metadata
	resources map[string]corev1.ResourceRequirements
}

// over is w, with what else a change says of the same containers in its place.
func (w work) over(c work) work {
	merged := work{images: maps.Clone(w.images), env: maps.Clone(w.env), resources: maps.Clone(w.resources)}
	for name, image := range c.images {
		set(&merged.images, name, image)
	}
	for name, metadata := range c.env {
		set(&merged.env, name, mergedMetadata(merged.env[name], metadata))
	}
	for name, resources := range c.resources {
		set(&merged.resources, name, resources)
	}
	return merged
}

func mergedMetadata(a, b Metadata) Metadata {
	return Metadata{Labels: mergedStrings(a.Labels, b.Labels), Annotations: mergedStrings(a.Annotations, b.Annotations)}
}

func mergedStrings(a, b map[string]string) map[string]string {
	if len(a) == 0 {
		return b
	}
	merged := maps.Clone(a)
	maps.Copy(merged, b)
	return merged
}

func (w work) of(container string) bool {
	_, image := w.images[container]
	_, env := w.env[container]
	_, resources := w.resources[container]
	return image || env || resources
}

// restrict is the part of w for the containers that keep says.
func (w work) restrict(keep func(container string) bool) work {
	return work{images: filter(w.images, keep), env: filter(w.env, keep), resources: filter(w.resources, keep)}
}

func filter[V any](m map[string]V, keep func(string) bool) map[string]V {
	var kept map[string]V
	for key, value := range m {
		if keep(key) {
			set(&kept, key, value)
		}
	}
	return kept
}

// split is what to do now, to which containers in the Pod's order, and what later (§5.8): first the containers without a
// priority and those of the highest one, with all those whose env is made of the labels and annotations that these get.
func (w work) split(pod *corev1.Pod) (now, later work, containers []string) {
	batch := firstBatch(pod, w)
	for grown := true; grown; {
		grown = false
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			if !batch[c.Name] && w.of(c.Name) && usesAny(c, w, batch) {
				batch[c.Name], grown = true, true
			}
		}
	}
	for i := range pod.Spec.Containers {
		if name := pod.Spec.Containers[i].Name; batch[name] {
			containers = append(containers, name)
		}
	}
	inPod := func(name string) bool {
		return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	}
	now = w.restrict(func(name string) bool { return batch[name] })
	later = w.restrict(func(name string) bool { return !batch[name] && inPod(name) })
	return now, later, containers
}

func firstBatch(pod *corev1.Pod, w work) map[string]bool {
	highest, prioritized := 0, false
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if priority, has := priorityOf(c); has && w.of(c.Name) && (!prioritized || priority > highest) {
			highest, prioritized = priority, true
		}
	}
	batch := map[string]bool{}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if priority, has := priorityOf(c); w.of(c.Name) && (!has || priority == highest) {
			batch[c.Name] = true
		}
	}
	return batch
}

// priorityOf is the container's launch priority, which is in the barrier that admission gave it.
func priorityOf(c *corev1.Container) (int, bool) {
	for _, env := range c.Env {
		if env.Name != v1beta1.ContainerLaunchBarrierEnv || env.ValueFrom == nil || env.ValueFrom.ConfigMapKeyRef == nil {
			continue
		}
		text, found := strings.CutPrefix(env.ValueFrom.ConfigMapKeyRef.Key, v1beta1.ContainerLaunchBarrierKeyPrefix)
		if priority, err := strconv.Atoi(text); found && err == nil {
			return priority, true
		}
	}
	return 0, false
}

// usesAny tells whether the container's env is made of a key that a container of the batch gets.
func usesAny(c *corev1.Container, w work, batch map[string]bool) bool {
	for _, env := range c.Env {
		ref, ok := runtimemeta.FromMetadata(env)
		if !ok {
			continue
		}
		for name := range batch {
			written := w.env[name].Labels
			if ref.Annotation {
				written = w.env[name].Annotations
			}
			if _, found := written[ref.Key]; found {
				return true
			}
		}
	}
	return false
}
