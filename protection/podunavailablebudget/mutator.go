package podunavailablebudget

import (
	"context"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// ReplicaSets reads one ReplicaSet at the API server; nil if there is none of the name.
type ReplicaSets interface {
	ReplicaSet(ctx context.Context, namespace, name string) (jsontext.Value, error)
}

// Mutator writes the name of its budget into a Pod that is being created (pod-admission.md §2.5).
type Mutator struct {
	known *Index
	// live is nil without a cluster.
	live ReplicaSets
	log  logr.Logger
}

// NewMutator makes the mutator. live may be nil: then the Deployment of a Pod is not known.
func NewMutator(known *Index, live ReplicaSets, log logr.Logger) Mutator {
	return Mutator{known, live, log}
}

// Name is the mutator's name in errors and metrics.
func (Mutator) Name() string { return "podunavailablebudget" }

// MutatePod sets both spellings of the annotation if a budget matches the Pod. It never fails: the controller sets what is
// missing here.
func (m Mutator) MutatePod(ctx context.Context, _ *admission.Request, pod *podview.Pod) ([]string, error) {
	var workloads []Workload
	if owner, owned := pod.Controller(); owned {
		workloads = append(workloads, WorkloadOf(owner.APIVersion, owner.Kind, owner.Name))
		if owner.Kind == "ReplicaSet" && m.known.targetsAbove(pod.Namespace, owner.Name) {
			workloads = append(workloads, m.above(ctx, pod.Namespace, owner.Name)...)
		}
	}
	if name := m.known.Match(pod.Namespace, pod.Labels, workloads...); name != "" {
		pod.SetAnnotation(policyv1beta1.PubRelatedAnnotation, name)
		pod.SetAnnotation(policyv1beta1.PubRelatedLegacyAnnotation, name)
	}
	return nil, nil
}

// above is the controller of a ReplicaSet, none if it has none or cannot be read.
func (m Mutator) above(ctx context.Context, namespace, name string) []Workload {
	if m.live == nil {
		return nil
	}
	raw, err := m.live.ReplicaSet(ctx, namespace, name)
	if err != nil {
		m.log.Error(err, "Cannot read a ReplicaSet; its new Pod gets its budget from the controller", "namespace", namespace, "name", name)
		return nil
	}
	if raw == nil {
		return nil
	}
	var set metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &set); err != nil {
		m.log.Error(err, "Cannot read a ReplicaSet; its new Pod gets its budget from the controller", "namespace", namespace, "name", name)
		return nil
	}
	if owner := metav1.GetControllerOfNoCopy(&set); owner != nil {
		return []Workload{WorkloadOf(owner.APIVersion, owner.Kind, owner.Name)}
	}
	return nil
}
