// Package launchpriority makes the containers of a Pod start in the order of their priorities (pod-admission.md §2.4).
// Every container gets an environment variable from a ConfigMap key that does not exist yet, which keeps the kubelet
// from starting it; controllers/launchpriority adds the keys one after the other.
package launchpriority

import (
	"context"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Mutator injects the barriers. It comes after everything that adds containers, which are ordered with the others.
type Mutator struct {
	suffix func(length int) string
}

// New makes the mutator. suffix gives that many random characters for the name of a Pod that only has generateName, of
// the alphabet that the API server uses.
func New(suffix func(length int) string) Mutator { return Mutator{suffix: suffix} }

// Name is the mutator's name in errors and metrics.
func (Mutator) Name() string { return "launchpriority" }

// MutatePod gives every container its barrier when the Pod has several containers of different priorities, and names
// the Pod if it must. Priorities that are no usable integers refuse the Pod with 422.
func (m Mutator) MutatePod(_ context.Context, _ *admission.Request, pod *podview.Pod) ([]string, error) {
	if len(pod.Containers) < 2 {
		return nil, nil
	}
	priorities, err := prioritiesOf(pod)
	if err != nil || allEqual(priorities) {
		return nil, err
	}
	named, err := m.name(pod)
	if err != nil || !named {
		return nil, err
	}
	for i, c := range pod.Containers {
		if err := setBarrier(c, pod.Name, priorities[i]); err != nil {
			return nil, err
		}
	}
	if pod.Annotations[v1beta1.ContainerLaunchPriorityCompletedAnnotation] == "true" {
		// A restored Pod says what was true of the one it was saved from; with it, its barrier would never open.
		pod.SetAnnotation(v1beta1.ContainerLaunchPriorityCompletedAnnotation, "false")
	}
	return nil, nil
}

func allEqual(priorities []int64) bool {
	for _, p := range priorities {
		if p != priorities[0] {
			return false
		}
	}
	return true
}
