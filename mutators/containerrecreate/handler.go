package containerrecreate

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Live reads from the API server, past every cache. What does not exist is an error that apierrors.IsNotFound knows.
type Live interface {
	// Pod is a Pod as JSON.
	Pod(ctx context.Context, namespace, name string) (jsontext.Value, error)
	// NodeLabels are the labels of a node.
	NodeLabels(ctx context.Context, name string) (map[string]string, error)
}

// New is the handler of /mutate-apps-kruise-io-containerrecreaterequest for both versions. enabled is the feature gate
// KruiseDaemon: without daemons nobody would serve a request, so none is accepted. An API server that does not answer
// is a fault, never a verdict.
func New(live Live, enabled bool) admission.Handler { return &handler{live: live, enabled: enabled} }

type handler struct {
	live    Live
	enabled bool
}

// Handle implements admission.Handler.
func (h *handler) Handle(ctx context.Context, req *admission.Request) admission.Response {
	if req.SubResource != "" {
		return admission.Allow()
	}
	var patch jsontext.Value
	var err error
	switch req.Operation {
	case admission.Create:
		patch, err = h.create(ctx, req)
	case admission.Update:
		patch, err = h.update(req)
	default: // deletions never come here
	}
	if err != nil {
		return admission.Failed(err)
	}
	return admission.Patched(patch)
}

func refuseDisabled() error {
	return admission.Refuse(403, "the feature gate KruiseDaemon is off, so nobody would serve a ContainerRecreateRequest; switch it on to restart containers")
}

func undecodable(err error) error {
	return admission.Refuse(400, "decoding ContainerRecreateRequest: %v", err)
}
