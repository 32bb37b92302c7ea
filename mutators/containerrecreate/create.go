package containerrecreate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/api/decoding"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// create judges in the order of container-recreate.md §3; the first failure wins.
func (h *handler) create(ctx context.Context, req *admission.Request) (jsontext.Value, error) {
	if !h.enabled {
		return nil, refuseDisabled()
	}
	r, err := parse(req.Object)
	if err != nil {
		return nil, undecodable(err)
	}
	p, err := h.readPod(ctx, req.Namespace, r.spec.TextOf("podName"))
	if err != nil {
		return nil, err
	}
	nodeLabels, err := h.readNode(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := r.captureContainers(p); err != nil {
		return nil, err
	}
	r.captureStrategy(p)
	r.label(p, nodeLabels)
	return r.top.Patch(), nil
}

func (h *handler) readPod(ctx context.Context, namespace, name string) (*pod, error) {
	if name == "" {
		return nil, admission.Refuse(400, "spec.podName: Required value: name the Pod whose containers are to be restarted")
	}
	// A name that no Pod can have must not become a part of a URL.
	if faults := content.IsPathSegmentName(name); len(faults) > 0 {
		return nil, admission.Refuse(400, "spec.podName: Invalid value: %q: %s", name, strings.Join(faults, ", "))
	}
	raw, err := h.live.Pod(ctx, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, admission.Refuse(400, "spec.podName: Not found: there is no Pod %q in namespace %q", name, namespace)
	case err != nil:
		return nil, fmt.Errorf("reading Pod %s/%s: %w", namespace, name, err)
	}
	p, err := parsePod(raw)
	if err != nil {
		return nil, fmt.Errorf("reading Pod %s/%s: %w", namespace, name, err)
	}
	if why := p.inactive(); why != "" {
		return nil, admission.Refuse(400, "spec.podName: Invalid value: %q: the Pod %s, so its containers cannot be restarted", name, why)
	}
	if p.node == "" {
		return nil, admission.Refuse(400, "spec.podName: Invalid value: %q: the Pod has no node yet; wait until it is scheduled and its containers have started", name)
	}
	return p, nil
}

func (h *handler) readNode(ctx context.Context, p *pod) (map[string]string, error) {
	labels, err := h.live.NodeLabels(ctx, p.node)
	switch {
	case apierrors.IsNotFound(err):
		return nil, admission.Refuse(400, "spec.podName: Invalid value: %q: the Pod's node %q does not exist, so no daemon can restart its containers", p.name, p.node)
	case err != nil:
		return nil, fmt.Errorf("reading node %s: %w", p.node, err)
	}
	return labels, nil
}

// request is a ContainerRecreateRequest of either version: what is captured is spelled alike in both.
type request struct{ top, metadata, spec *jsontree.Node }

// parse checks that the spec is one, and the kinds of the values beside it that are looked at or written into.
func parse(raw jsontext.Value) (*request, error) {
	if raw == nil {
		return nil, errors.New("the request has no object")
	}
	top, err := jsontree.Parse(raw)
	if err != nil {
		return nil, err
	}
	if !top.IsObject() {
		return nil, fmt.Errorf("expected an object, found %s", top.Kind())
	}
	r := &request{top: top}
	if r.metadata, err = object(top, "metadata"); err != nil {
		return nil, err
	}
	if r.spec, err = object(top, "spec"); err != nil {
		return nil, err
	}
	for _, name := range []string{"labels", "annotations"} {
		if v := r.metadata.Get(name); v != nil && !v.IsObject() {
			return nil, mismatch(v, "an object of names and values")
		}
	}
	// Both versions have the same spec.
	return r, decoding.Into(new(v1beta1.ContainerRecreateRequestSpec), "spec", r.spec.Bytes(), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// object is a member that must be an object; without one an empty object is put there.
func object(of *jsontree.Node, name string) (*jsontree.Node, error) {
	switch v := of.Get(name); {
	case v == nil:
		return of.Put(jsontree.Add, name, jsontext.Value("{}")), nil
	case !v.IsObject():
		return nil, mismatch(v, "an object")
	default:
		return v, nil
	}
}
