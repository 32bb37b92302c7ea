// Package mutators runs what changes a Pod at admission, one mutation a folder below this one.
package mutators

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// PodMutator is one step of a Pod's admission. It changes pod through its methods only, is idempotent, and is safe for
// concurrent use. An error stops the chain: an admission.Refusal refuses the Pod, any other error is a fault of ours.
type PodMutator interface {
	// Name appears in errors and metrics.
	Name() string
	MutatePod(ctx context.Context, req *admission.Request, pod *podview.Pod) (warnings []string, err error)
}

// PodChain is the handler of Pod creation: it runs its mutators in order over one view of the Pod and answers with one
// patch (pod-admission.md §2). The order matters: each mutator sees what those before it did.
type PodChain []PodMutator

// Handle mutates Pods that are being created; every other request passes.
func (c PodChain) Handle(ctx context.Context, req *admission.Request) admission.Response {
	if req.Operation != admission.Create || req.SubResource != "" || req.Resource.Resource != "pods" {
		return admission.Allow()
	}
	if req.Object == nil {
		return admission.Failed(admission.Refuse(400, "decoding Pod: the request has no object"))
	}
	pod, err := podview.Parse(req.Object, req.Namespace)
	if err != nil {
		return admission.Failed(err)
	}
	warnings, err := c.mutate(ctx, req, pod)
	if err != nil {
		return admission.Failed(err)
	}
	return admission.Patched(pod.Patch(), warnings...)
}

func (c PodChain) mutate(ctx context.Context, req *admission.Request, pod *podview.Pod) ([]string, error) {
	var warnings []string
	for _, m := range c {
		more, err := m.MutatePod(ctx, req, pod)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		}
		warnings = append(warnings, more...)
	}
	return warnings, nil
}
