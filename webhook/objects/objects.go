// Package objects feeds the objects that admission depends on (SidecarSets, their revisions, Namespaces) into whoever uses
// them, as raw JSON: from a directory of files without a cluster, or from the API server's watches.
package objects

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// Sink is told of every object of one kind. Its methods are called one after the other.
type Sink interface {
	// Upsert takes an object's JSON, of any version, which the sink may keep but must not change. After an error the
	// object counts as unchanged: what a broken version does to the last good one is the sink's decision.
	Upsert(raw jsontext.Value) error
	// Delete takes an object away; namespace is "" for cluster-scoped kinds.
	Delete(namespace, name string)
}

// Kind is a kind of objects and who is told of them.
type Kind struct {
	schema.GroupKind
	// Resource is the plural that the API server knows the kind by, and Version the one to read there.
	Resource, Version string
	ClusterScoped     bool
	// Namespace and Selector, if they are set, are all that is asked of the API server: objects of the one namespace, with
	// labels that the selector matches. A directory's files hold what their author wants seen, so they are not narrowed.
	Namespace, Selector string
	// Optional says that a cluster may do without the kind: then there is none of it, until it is installed.
	Optional bool
	// Foreign says that its definition is none of this release's.
	Foreign bool
	Sink    Sink
}

func (k Kind) String() string {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}.String()
}

// key identifies an object; its version is no part of it.
type key struct {
	schema.GroupKind
	namespace, name string
}

func (k key) String() string {
	if k.namespace == "" {
		return k.Kind + " " + k.name
	}
	return k.Kind + " " + k.namespace + "/" + k.name
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.Group, other.Group), cmp.Compare(k.Kind, other.Kind),
		cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

// header is what has to be known of any object.
type header struct {
	apiVersion, kind string
	metadata         metav1.ObjectMeta
	// items is the raw array of a list.
	items jsontext.Value
}

func (h header) groupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(h.apiVersion, h.kind).GroupKind()
}

// readHeader reads an object's type and the metadata that identify it. Of the metadata only name, namespace,
// resourceVersion, labels and annotations are read.
func readHeader(raw []byte) (h header, err error) {
	err = jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		if w.Kind() != jsontext.KindBeginObject && w.Kind() != jsontext.KindInvalid {
			return fmt.Errorf("a Kubernetes object is needed, this is a %v", w.Kind())
		}
		return w.Object(func(name string) (err error) {
			switch name {
			case "apiVersion":
				h.apiVersion, err = w.String()
			case "kind":
				h.kind, err = w.String()
			case "metadata":
				err = readMetadata(w, &h.metadata)
			case "items":
				h.items, err = w.Value()
			}
			return err
		})
	})
	return h, err
}

func readMetadata(w *jsonwalk.Walker, metadata *metav1.ObjectMeta) error {
	return w.Object(func(name string) (err error) {
		switch name {
		case "name":
			metadata.Name, err = w.String()
		case "namespace":
			metadata.Namespace, err = w.String()
		case "resourceVersion":
			metadata.ResourceVersion, err = w.String()
		case "labels":
			metadata.Labels, err = w.Strings()
		case "annotations":
			metadata.Annotations, err = w.Strings()
		}
		return err
	})
}

// elements splits a raw array into its elements, which are parts of it.
func elements(array jsontext.Value) ([]jsontext.Value, error) {
	if array == nil {
		return nil, nil
	}
	var items []jsontext.Value
	err := jsonwalk.Walk(array, func(w *jsonwalk.Walker) error {
		return w.Array(func() error {
			item, failure := w.Value()
			items = append(items, item)
			return failure
		})
	})
	return items, err
}
