// Package readinessgate gives Pods the readiness gate by which Fairlead can hold them unready while it works on them
// (pod-admission.md §2.1).
package readinessgate

import (
	"context"
	"strings"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// group is the API group of the workloads whose Pods always get the gate, in any version.
const group = "apps.kruise.io"

// Mutator adds the gate KruisePodReady to the Pods of our workloads, or to every Pod.
type Mutator struct {
	everyPod bool
}

// New makes the mutator; everyPod is the feature gate KruisePodReadinessGate.
func New(everyPod bool) Mutator { return Mutator{everyPod: everyPod} }

// Name is the mutator's name in errors and metrics.
func (Mutator) Name() string { return "readinessgate" }

// MutatePod adds the gate, unless the Pod has it, when the Pod's controller is of our group. It is the direct owner
// that counts: a ReplicaSet's Pod has no gate even if a UnitedDeployment stands behind the ReplicaSet.
func (m Mutator) MutatePod(_ context.Context, _ *admission.Request, pod *podview.Pod) ([]string, error) {
	if m.everyPod || ours(pod) {
		pod.AddReadinessGate(v1beta1.KruisePodReady)
	}
	return nil, nil
}

func ours(pod *podview.Pod) bool {
	owner, ok := pod.Controller()
	if !ok {
		return false
	}
	ownerGroup, _, versioned := strings.Cut(owner.APIVersion, "/")
	return versioned && ownerGroup == group
}
