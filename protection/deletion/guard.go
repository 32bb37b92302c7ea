package deletion

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// The values of the label. Any other protects nothing.
const (
	Always    = "Always"
	Cascading = "Cascading"
)

// Denial is a deletion that was denied.
type Denial struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	UID             string
	// User is who wanted the object deleted. It belongs into audit logs, and nowhere else.
	User string
	// Mode is the value of the label.
	Mode string
	// Why is the message's last part: what the label protects the object for. It names nobody and no object.
	Why string
}

// Options are what a Guard needs.
type Options struct {
	Census Census
	// CRDCascading is the feature gate DeletionProtectionForCRDCascadingGate.
	CRDCascading bool
	// Denied is told of every denial but those of dry runs; it must not block.
	Denied func(Denial)
}

// New is the handler of all webhooks of deletion protection: it judges the DELETE of a main resource, and lets pass
// every other request and every kind that cannot be protected. A denial is a 403. A census that cannot be taken denies
// too: an object that may be the last one standing before a loss is not given up because a list failed.
func New(o Options) admission.Handler { return &guard{o} }

type guard struct{ Options }

// Handle implements admission.Handler.
func (g *guard) Handle(ctx context.Context, req *admission.Request) admission.Response {
	judge, known := kinds[schema.GroupResource{Group: req.Resource.Group, Resource: req.Resource.Resource}]
	if req.Operation != admission.Delete || req.SubResource != "" || req.OldObject == nil || !known {
		return admission.Allow()
	}
	o, err := parse(req.OldObject)
	if err != nil {
		return admission.Failed(admission.Refuse(400, "decoding %s: %v", req.Kind.Kind, err))
	}
	why, err := g.judge(ctx, o, judge)
	if err != nil {
		return admission.Failed(admission.Refuse(400, "decoding %s: %v", req.Kind.Kind, err))
	}
	if why == "" {
		return admission.Allow()
	}
	if !req.DryRun {
		g.Denied(Denial{
			Kind:      schema.GroupVersionKind{Group: req.Kind.Group, Version: req.Kind.Version, Kind: req.Kind.Kind},
			Namespace: o.namespace, Name: o.name, UID: o.uid, User: req.UserInfo.Username, Mode: o.mode, Why: why,
		})
	}
	return admission.Failed(admission.Refuse(403, "ResourcesProtectionDeletion: %s %s is protected by the label %s=%s: %s; remove the label to delete it",
		req.Kind.Kind, o.fullName(), policyv1beta1.DeletionProtectionLabel, o.mode, why))
}

// judge says why an object may not be deleted, or "". An error is the object's own.
func (g *guard) judge(ctx context.Context, o *object, judge cascade) (string, error) {
	switch {
	case o.deleting:
		return "", nil
	case o.mode == Always:
		return "it must not be deleted", nil
	case o.mode == Cascading:
		ctx, cancel := inTime(ctx)
		defer cancel()
		return judge(ctx, g, o)
	default:
		return "", nil
	}
}

// answering is the time that a denial needs to reach the API server: one that came late would be no answer, and under
// failurePolicy Ignore the object would be gone.
const answering = 200 * time.Millisecond

// inTime ends a census before the request's deadline: by answering, or by half of a time that is shorter than twice that.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(answering, time.Until(deadline)/2)))
}

// uncounted is why an object is protected whose census failed.
func uncounted(what string, err error) string {
	return fmt.Sprintf("its %s cannot be counted (%v)", what, err)
}
