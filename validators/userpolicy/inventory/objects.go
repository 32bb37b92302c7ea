// Package inventory has the objects of a cluster that sets of users' policies opted to see, as data.inventory: a watch for
// each resource that some set wants, and for each set a view of what it asked for.
package inventory

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/fairlead-io/fairlead/validators"
)

// Objects are those of one resource, as values of Rego. They are safe for concurrent use. What is read is never changed, so
// that an evaluation may hold it for as long as it takes.
type Objects struct {
	mu sync.RWMutex
	// apiVersion and kind are those of the objects; "" until there is one.
	apiVersion, kind string
	namespaces       map[string]*named
}

// named are the objects of one namespace, or of none.
type named struct {
	objects map[string]ast.Value
	// whole is an object of them all, made when it is asked for; nil after a change.
	whole ast.Object
}

// NewObjects are none.
func NewObjects() *Objects { return &Objects{namespaces: make(map[string]*named)} }

// metadata is what tells an object apart.
type metadata struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
}

var fieldsRef = ast.StringTerm("managedFields")

// Upsert implements objects.Sink.
func (o *Objects) Upsert(raw jsontext.Value) error {
	var m metadata
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("decoding an object for policies: %w", err)
	}
	value, err := validators.Document(raw)
	if err != nil {
		return fmt.Errorf("decoding an object for policies: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.apiVersion, o.kind = m.APIVersion, m.Kind
	in := o.namespaces[m.Metadata.Namespace]
	if in == nil {
		in = &named{objects: make(map[string]ast.Value)}
		o.namespaces[m.Metadata.Namespace] = in
	}
	in.objects[m.Metadata.Name] = withoutManagedFields(value)
	in.whole = nil
	return nil
}

// Delete implements objects.Sink.
func (o *Objects) Delete(namespace, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	in := o.namespaces[namespace]
	if in == nil {
		return
	}
	delete(in.objects, name)
	if in.whole = nil; len(in.objects) == 0 {
		delete(o.namespaces, namespace)
	}
}

// withoutManagedFields drops what is often more than the rest, and no rule's matter.
func withoutManagedFields(value ast.Value) ast.Value {
	object, ok := value.(ast.Object)
	if !ok {
		return value
	}
	meta := object.Get(ast.StringTerm("metadata"))
	if meta == nil {
		return value
	}
	inner, ok := meta.Value.(ast.Object)
	if !ok || inner.Get(fieldsRef) == nil {
		return value
	}
	kept := ast.NewObject()
	inner.Foreach(func(key, member *ast.Term) {
		if key.Value.Compare(fieldsRef.Value) != 0 {
			kept.Insert(key, member)
		}
	})
	slim := ast.NewObject()
	object.Foreach(func(key, member *ast.Term) {
		if key.Value.Compare(ast.String("metadata")) == 0 {
			member = ast.NewTerm(kept)
		}
		slim.Insert(key, member)
	})
	return slim
}

// one is an object; nil if there is none.
func (o *Objects) one(namespace, name string) ast.Value {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if in := o.namespaces[namespace]; in != nil {
		return in.objects[name]
	}
	return nil
}

// in are the objects of a namespace by name; nil if there is none.
func (o *Objects) in(namespace string) ast.Object {
	o.mu.RLock()
	in := o.namespaces[namespace]
	var whole ast.Object
	if in != nil {
		whole = in.whole
	}
	o.mu.RUnlock()
	if in == nil || whole != nil {
		return whole
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if in.whole == nil {
		pairs := make([][2]*ast.Term, 0, len(in.objects))
		for _, name := range slices.Sorted(maps.Keys(in.objects)) {
			pairs = append(pairs, [2]*ast.Term{ast.StringTerm(name), ast.NewTerm(in.objects[name])})
		}
		in.whole = ast.NewObject(pairs...)
	}
	return in.whole
}

// where are the namespaces that have objects, "" for none.
func (o *Objects) where() []string {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return slices.Collect(maps.Keys(o.namespaces))
}

// what are the apiVersion and the kind of the objects.
func (o *Objects) what() (apiVersion, kind string) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.apiVersion, o.kind
}
