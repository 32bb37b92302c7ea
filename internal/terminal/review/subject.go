package review

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// subject is the object of a request.
type subject struct {
	operation       admission.Operation
	kind            schema.GroupVersionKind
	resource        schema.GroupVersionResource
	namespaced      bool
	namespace, name string
	generateName    string
	old             jsontext.Value
	labels          []labels.Set
}

func (s *subject) shownName() string {
	if s.name == "" && s.generateName != "" {
		return s.generateName + "*"
	}
	return s.name
}

func (r *Reviewer) subject(request Request) (*subject, error) {
	s := &subject{operation: request.Operation, old: request.Old}
	main := request.Object
	if main == nil {
		main = request.Old
	}
	h, err := readHeader(main)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", request.Source, err)
	}
	s.kind, s.name, s.generateName = h.kind, h.name, h.generateName
	if s.name == "" && (s.generateName == "" || request.Operation != admission.Create) {
		return nil, terminal.Usagef("reading %s: metadata.name is missing", request.Source)
	}
	if s.resource, s.namespaced, err = r.Resources.Of(s.kind); err != nil {
		return nil, fmt.Errorf("%s: %w", request.Source, err)
	}
	if s.namespaced {
		if s.namespace = h.namespace; s.namespace == "" {
			s.namespace = request.Namespace
		}
	}
	for _, raw := range []jsontext.Value{request.Object, request.Old} {
		if raw == nil {
			continue
		}
		h, err := readHeader(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", request.Source, err)
		}
		s.labels = append(s.labels, h.labels)
	}
	return s, nil
}

// header is what identifies an object.
type header struct {
	kind                          schema.GroupVersionKind
	namespace, name, generateName string
	labels                        labels.Set
}

func readHeader(raw jsontext.Value) (header, error) {
	top, err := jsontree.Parse(raw)
	if err != nil {
		return header{}, terminal.Usage(fmt.Errorf("reading an object: %w", err))
	}
	if !top.IsObject() {
		return header{}, terminal.Usagef("reading an object: found %v", top.Kind())
	}
	h := header{kind: schema.FromAPIVersionAndKind(top.TextOf("apiVersion"), top.TextOf("kind")), labels: labels.Set{}}
	metadata := top.Object("metadata")
	if metadata == nil {
		return h, nil
	}
	h.namespace, h.name, h.generateName = metadata.TextOf("namespace"), metadata.TextOf("name"), metadata.TextOf("generateName")
	if set := metadata.Object("labels"); set != nil {
		for _, member := range set.Members() {
			h.labels[member.Name] = member.Value.Text()
		}
	}
	return h, nil
}
