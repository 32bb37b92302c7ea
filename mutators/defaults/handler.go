package defaults

import (
	"context"
	"errors"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// NewSidecarSetHandler is the handler of /mutate-apps-kruise-io-sidecarset. It answers the creation and the update of a
// SidecarSet with a patch of its defaults and hashes; a SidecarSet that is being deleted, and every other request,
// passes.
func NewSidecarSetHandler() admission.Handler { return admission.HandlerFunc(handleSidecarSet) }

func handleSidecarSet(_ context.Context, req *admission.Request) admission.Response {
	if req.Operation != admission.Create && req.Operation != admission.Update || req.SubResource != "" {
		return admission.Allow()
	}
	if req.Object == nil {
		return admission.Failed(undecodable(errors.New("the request has no object")))
	}
	top, err := jsontree.Parse(req.Object)
	if err != nil {
		return admission.Failed(undecodable(err))
	}
	if deleting(req, top) {
		return admission.Allow()
	}
	result, err := defaultSidecarSet(top)
	if err != nil {
		return admission.Failed(undecodable(err))
	}
	return admission.Patched(result.Patch)
}

// deleting says whether an object is being deleted. One that is created is not, whatever a client writes into it: the API
// server drops that, here or later.
func deleting(req *admission.Request, top *jsontree.Node) bool {
	metadata := top.Object("metadata")
	return req.Operation == admission.Update && metadata != nil && metadata.Get("deletionTimestamp") != nil
}

func undecodable(err error) error { return admission.Refuse(400, "decoding SidecarSet: %v", err) }
