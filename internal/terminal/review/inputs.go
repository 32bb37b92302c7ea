package review

import (
	"context"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/objects"
)

// requests are the objects of the files, and the Pods of their templates.
func (c *command) requests(stdin io.Reader) ([]Request, error) {
	operation := admission.Operation(strings.ToUpper(c.operation))
	switch operation {
	case admission.Create, admission.Update, admission.Delete:
	default:
		return nil, terminal.Usagef("reading --operation: %q is none of create, update, delete", c.operation)
	}
	namespace, err := c.connection.Namespace()
	if err != nil {
		return nil, err
	}
	documents, err := terminal.ReadFiles(c.files, stdin)
	if err != nil {
		return nil, err
	}
	before, err := terminal.ReadFiles(c.old, stdin)
	if err != nil {
		return nil, err
	}
	var requests []Request
	for _, document := range documents {
		request := Request{Source: document.Where, Operation: operation, Object: document.JSON, Namespace: namespace}
		switch operation {
		case admission.Delete:
			request.Object, request.Old = nil, document.JSON
		case admission.Update:
			if request.Old, err = oldOf(document, before); err != nil {
				return nil, err
			}
		default:
		}
		requests = append(requests, request)
		if operation == admission.Delete || !c.template {
			continue
		}
		pod, found, err := PodOf(request)
		if err != nil {
			return nil, err
		}
		if found {
			requests = append(requests, pod)
		}
	}
	return requests, nil
}

// oldOf finds the object as it was by its name.
func oldOf(document objects.Document, before []objects.Document) ([]byte, error) {
	if len(before) == 0 {
		return nil, nil // read from the cluster
	}
	want, err := readHeader(document.JSON)
	if err != nil {
		return nil, err
	}
	for _, candidate := range before {
		h, err := readHeader(candidate.JSON)
		if err != nil {
			return nil, err
		}
		if h.kind.GroupKind() == want.kind.GroupKind() && h.name == want.name && h.namespace == want.namespace {
			return candidate.JSON, nil
		}
	}
	return nil, terminal.Usagef("reading %s: %s %s is in none of the files of --old", document.Where, want.kind.Kind, want.name)
}

// complete reads the objects as they are, where the request needs them and no file has them.
func complete(ctx context.Context, cluster *terminal.Cluster, reviewer *Reviewer, requests []Request) error {
	for i := range requests {
		request := &requests[i]
		if request.Operation != admission.Update || request.Old != nil {
			continue
		}
		s, err := reviewer.subject(*request)
		if err != nil {
			return err
		}
		request.Old, err = cluster.Get(ctx, s.resource, s.namespace, s.name)
		if apierrors.IsNotFound(err) {
			return terminal.Usagef("reading %s: %w; review it with --operation create", request.Source, err)
		}
		if err != nil {
			return terminal.Unreachable(err)
		}
	}
	return nil
}
