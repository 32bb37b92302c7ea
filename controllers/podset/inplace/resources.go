package inplace

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resizable are the resources that a running container can be given more or less of.
var resizable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// takeResources moves changed amounts of resizable resources out of the trees, where both have one.
func (c *Change) takeResources(before, after map[string]any, container string) {
	var changed corev1.ResourceRequirements
	take := func(list *corev1.ResourceList, name string) {
		from, _ := section(before, "resources")[name].(map[string]any)
		to, _ := section(after, "resources")[name].(map[string]any)
		for _, r := range resizable {
			text, wasThere := to[string(r)].(string)
			if !wasThere || from[string(r)] == nil || from[string(r)] == to[string(r)] {
				continue
			}
			amount, err := resource.ParseQuantity(text)
			if err != nil {
				continue
			}
			from[string(r)] = text
			if *list == nil {
				*list = corev1.ResourceList{}
			}
			(*list)[r] = amount
		}
	}
	take(&changed.Limits, "limits")
	take(&changed.Requests, "requests")
	if changed.Limits != nil || changed.Requests != nil {
		set(&c.Resources, container, changed)
	}
}

// qosClass is what Kubernetes makes of a Pod's requests and limits.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, some := true, false
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, r := range resizable {
			request, limit := c.Resources.Requests[r], c.Resources.Limits[r]
			some = some || !request.IsZero() || !limit.IsZero()
			// A request that is not given is the limit.
			guaranteed = guaranteed && !limit.IsZero() && (request.IsZero() || request.Cmp(limit) == 0)
		}
	}
	switch {
	case !some:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

// resized tells whether the kubelet has given every container what the Pod's spec says.
func resized(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := statusOf(pod, c.Name)
		if status == nil || status.Resources == nil || !sameAmounts(c.Resources.Limits, status.Resources.Limits) ||
			!sameAmounts(c.Resources.Requests, status.Resources.Requests) {
			return false
		}
	}
	return true
}

// sameAmounts looks at what the spec asks for: the kubelet may report more than that.
func sameAmounts(asked, given corev1.ResourceList) bool {
	for _, r := range resizable {
		if want, has := asked[r]; has {
			if got, there := given[r]; !there || got.Cmp(want) != 0 {
				return false
			}
		}
	}
	return true
}

// restarts tells whether some container is restarted by new amounts of resources.
func restarts(pod *corev1.Pod, resources map[string]corev1.ResourceRequirements) bool {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		changed := resources[c.Name]
		for _, policy := range c.ResizePolicy {
			_, limit := changed.Limits[policy.ResourceName]
			_, request := changed.Requests[policy.ResourceName]
			if policy.RestartPolicy == corev1.RestartContainer && (limit || request) {
				return true
			}
		}
	}
	return false
}
