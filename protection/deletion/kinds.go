package deletion

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// cascade says why the label's value Cascading protects an object, or "". An error is the object's own.
type cascade func(ctx context.Context, g *guard, o *object) (string, error)

// kinds are those that can be protected, in every version.
var kinds = map[schema.GroupResource]cascade{
	{Resource: "namespaces"}: namespace,
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: customResourceDefinition,
	{Group: "apps", Resource: "deployments"}:                               workload,
	{Group: "apps", Resource: "replicasets"}:                               workload,
	{Group: "apps", Resource: "statefulsets"}:                              workload,
	{Group: "apps.kruise.io", Resource: "clonesets"}:                       workload,
	{Group: "apps.kruise.io", Resource: "statefulsets"}:                    workload,
	{Group: "apps.kruise.io", Resource: "uniteddeployments"}:               workload,
	{Resource: "services"}:                                                 nothing,
	{Group: "networking.k8s.io", Resource: "ingresses"}:                    nothing,
}

// nothing goes with a Service or an Ingress.
func nothing(context.Context, *guard, *object) (string, error) { return "", nil }

// workload is protected by the replicas that are wanted of it; unset is not a wish.
func workload(_ context.Context, _ *guard, o *object) (string, error) {
	if o.spec == nil {
		return "", nil
	}
	replicas := o.spec.Get("replicas")
	if replicas == nil {
		return "", nil
	}
	n, err := strconv.ParseInt(string(replicas.Bytes()), 10, 32)
	if err != nil {
		return "", fmt.Errorf("spec.replicas: %s is no number of replicas", replicas.Bytes())
	}
	if n <= 0 {
		return "", nil
	}
	return fmt.Sprintf("replicas %d>0", n), nil
}

// namespace is protected by Pods that run, and by claims that hold data.
func namespace(ctx context.Context, g *guard, o *object) (string, error) {
	pods, err := g.Census.ActivePods(ctx, o.name)
	switch {
	case err != nil:
		return uncounted("active pods", err), nil
	case pods.N > 0:
		return "active pods " + pods.String(), nil
	}
	claims, err := g.Census.BoundClaims(ctx, o.name)
	switch {
	case err != nil:
		return uncounted("Bound pvc", err), nil
	case claims.N > 0:
		return "Bound pvc " + claims.String(), nil
	}
	return "", nil
}

// customResourceDefinition is protected by its objects. Listing those of any kind is a right that installations give
// only together with the gate, so without it nothing can be said, and nothing may go.
func customResourceDefinition(ctx context.Context, g *guard, o *object) (string, error) {
	if !g.CRDCascading {
		return "the feature gate DeletionProtectionForCRDCascadingGate is not enabled, so its active CRs are not counted", nil
	}
	resource, err := customResource(o.spec)
	if err != nil {
		return uncounted("active CRs", err), nil
	}
	objects, err := g.Census.CustomResources(ctx, resource)
	switch {
	case err != nil:
		return uncounted("active CRs", err), nil
	case objects.N > 0:
		return "active CRs " + objects.String(), nil
	}
	return "", nil
}
