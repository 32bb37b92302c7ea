package objects

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// Raw is an object as the API server sent it. The reflector sees its metadata; of these only what readHeader reads is
// there. One that was passed on already has no JSON.
type Raw struct {
	metav1.ObjectMeta
	JSON jsontext.Value
}

// newRaw reads an object whose bytes the caller gives away.
func newRaw(encoded jsontext.Value) (*Raw, error) {
	h, err := readHeader(encoded)
	if err != nil {
		return nil, err
	}
	return &Raw{ObjectMeta: h.metadata, JSON: encoded}, nil
}

func (r *Raw) objectName() cache.ObjectName {
	return cache.ObjectName{Namespace: r.Namespace, Name: r.Name}
}

// version is the object without all but its name and version.
func (r *Raw) version() *Raw {
	return &Raw{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name, ResourceVersion: r.ResourceVersion}}
}

// GetObjectKind implements runtime.Object.
func (r *Raw) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (r *Raw) DeepCopyObject() runtime.Object {
	return &Raw{ObjectMeta: *r.DeepCopy(), JSON: slices.Clone(r.JSON)}
}

// RawList is a list of objects as the API server sent them.
type RawList struct {
	metav1.ListMeta
	Items []Raw
}

// GetObjectKind implements runtime.Object.
func (l *RawList) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (l *RawList) DeepCopyObject() runtime.Object {
	list := &RawList{ListMeta: *l.DeepCopy(), Items: make([]Raw, len(l.Items))}
	for i := range l.Items {
		list.Items[i] = *l.Items[i].DeepCopyObject().(*Raw)
	}
	return list
}
