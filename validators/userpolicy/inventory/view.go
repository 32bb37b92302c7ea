package inventory

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

// part is what a set sees of one resource.
type part struct {
	objects *Objects
	// namespaces narrow it; none is everywhere.
	namespaces []string
}

func (p part) shows(namespace string) bool {
	return len(p.namespaces) == 0 || slices.Contains(p.namespaces, namespace)
}

// View is what one set sees.
type View struct {
	parts   []part
	missing func() error
}

var _ userpolicy.Inventory = (*View)(nil)

// Static is a view of all of some objects, which are whole.
func Static(all ...*Objects) *View {
	v := &View{missing: func() error { return nil }}
	for _, objects := range all {
		v.parts = append(v.parts, part{objects: objects})
	}
	return v
}

// Missing implements userpolicy.Inventory.
func (v *View) Missing() error { return v.missing() }

// The two halves of data.inventory.
const (
	byNamespace = "namespace"
	byCluster   = "cluster"
)

// Read implements userpolicy.Inventory: namespace.NAMESPACE.APIVERSION.KIND.NAME and cluster.APIVERSION.KIND.NAME. What is
// asked for in whole, for a rule that looks at all of it, is put together for it.
func (v *View) Read(path []string) ast.Value {
	switch {
	case len(path) == 0:
		return object([2]*ast.Term{ast.StringTerm(byNamespace), ast.NewTerm(v.namespaces())}, [2]*ast.Term{ast.StringTerm(byCluster), ast.NewTerm(v.versions(""))})
	case path[0] == byCluster:
		return v.within("", path[1:])
	case path[0] == byNamespace && len(path) == 1:
		return v.namespaces()
	case path[0] == byNamespace && path[1] != "":
		if value := v.within(path[1], path[2:]); len(path) > 2 || value.(ast.Object).Len() > 0 {
			return value
		}
	}
	return nil
}

// within reads below a namespace, "" for the objects of none.
func (v *View) within(namespace string, path []string) ast.Value {
	switch len(path) {
	case 0:
		return v.versions(namespace)
	case 1, 2:
		return find(v.versions(namespace), path)
	}
	for _, p := range v.parts {
		if apiVersion, kind := p.objects.what(); apiVersion != path[0] || kind != path[1] || !p.shows(namespace) {
			continue
		}
		if found := p.objects.one(namespace, path[2]); found != nil {
			return find(found, path[3:])
		}
	}
	return nil
}

// versions are the objects of a namespace by apiVersion, kind and name.
func (v *View) versions(namespace string) ast.Object {
	versions := ast.NewObject()
	for _, p := range v.parts {
		apiVersion, kind := p.objects.what()
		if !p.shows(namespace) {
			continue
		}
		objects := p.objects.in(namespace)
		if objects == nil {
			continue
		}
		kinds := ast.NewObject([2]*ast.Term{ast.StringTerm(kind), ast.NewTerm(objects)})
		if others := versions.Get(ast.StringTerm(apiVersion)); others != nil {
			if merged, ok := kinds.Merge(others.Value.(ast.Object)); ok {
				kinds = merged
			}
		}
		versions.Insert(ast.StringTerm(apiVersion), ast.NewTerm(kinds))
	}
	return versions
}

// namespaces are all objects that are in one.
func (v *View) namespaces() ast.Object {
	all := ast.NewObject()
	for _, p := range v.parts {
		for _, namespace := range p.objects.where() {
			if name := ast.StringTerm(namespace); namespace != "" && p.shows(namespace) && all.Get(name) == nil {
				all.Insert(name, ast.NewTerm(v.versions(namespace)))
			}
		}
	}
	return all
}

func object(members ...[2]*ast.Term) ast.Object { return ast.NewObject(members...) }

// find goes down a path; nil if it leads nowhere.
func find(value ast.Value, path []string) ast.Value {
	ref := make(ast.Ref, len(path))
	for i, name := range path {
		ref[i] = ast.StringTerm(name)
	}
	found, err := value.Find(ref)
	if err != nil {
		return nil
	}
	return found
}
