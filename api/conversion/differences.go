package conversion

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// differences lists what makes the natural object into the wanted one, in the order of their paths' names.
func differences(natural, wanted *jsontree.Node) []record {
	var c comparison
	for _, part := range []string{"spec", "status"} {
		c.members(natural, wanted, "", part)
	}
	for _, which := range []string{labels, annotations} {
		c.objects(tags(natural, which), tags(wanted, which), tagPointer(which))
	}
	return c.records
}

// tags are an object's labels or annotations, nil if it has none.
func tags(n *jsontree.Node, which string) *jsontree.Node {
	if metadata := n.Object("metadata"); metadata != nil {
		return metadata.Object(which)
	}
	return nil
}

func tagPointer(which string) string { return "/metadata/" + which }

type comparison struct{ records []record }

// members compares one member of two objects, of which one may be nil.
func (c *comparison) members(natural, wanted *jsontree.Node, path, name string) {
	var from, to *jsontree.Node
	if natural != nil {
		from = natural.Lookup(name)
	}
	if wanted != nil {
		to = wanted.Lookup(name)
	}
	c.values(from, to, path+"/"+jsontree.Escape(name))
}

func (c *comparison) values(natural, wanted *jsontree.Node, path string) {
	switch {
	case jsontree.Equal(natural, wanted):
	case wanted == nil:
		c.records = append(c.records, record{path: path, was: natural.Hash()})
	case natural.IsObject() && wanted.IsObject():
		c.objects(natural, wanted, path)
	case sameKeys(natural, wanted):
		for i, element := range natural.Elements() {
			c.values(element, wanted.Elements()[i], path+"/"+jsontree.Escape(keyOf(element)))
		}
	default:
		c.records = append(c.records, record{path: path, value: wanted.Bytes(), was: natural.Hash()})
	}
}

// objects compares two objects, of which one may be nil, member by member.
func (c *comparison) objects(natural, wanted *jsontree.Node, path string) {
	var names []string
	for _, n := range []*jsontree.Node{natural, wanted} {
		if n != nil {
			names = append(names, n.Names()...)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c.members(natural, wanted, path, name)
	}
}

// sameKeys says whether two lists have elements of the same keys in the same order. Then what differs is in the elements,
// and finds its way back to them even if a client adds, removes or moves others.
func sameKeys(a, b *jsontree.Node) bool {
	if !a.IsArray() || !b.IsArray() || len(a.Elements()) != len(b.Elements()) {
		return false
	}
	seen := make(map[string]bool, len(a.Elements()))
	for i, element := range a.Elements() {
		key := keyOf(element)
		if key == "" || seen[key] || keyOf(b.Elements()[i]) != key {
			return false
		}
		seen[key] = true
	}
	return true
}

// keyOf is what the lists of our kinds tell their elements by: NodeImage's Secrets by namespace and name, conditions by
// type, everything else by name. "" is none.
func keyOf(element *jsontree.Node) string {
	if !element.IsObject() {
		return ""
	}
	var parts []string
	for _, name := range []string{"namespace", "name", "type"} {
		if text := element.TextOf(name); text != "" {
			parts = append(parts, name+"="+text)
		}
	}
	return strings.Join(parts, ",")
}
