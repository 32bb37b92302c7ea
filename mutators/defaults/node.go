package defaults

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// node is a value of a JSON document that remembers how it differs from the document as sent.
type node struct {
	// raw is the value as sent, or as we wrote it; stale once something below it changed.
	raw      jsontext.Value
	parent   *node
	members  []member // of an object, in their order
	elements []*node  // of an array

	// op is the JSON Patch operation that puts this node where it is, "" if it was sent. changed says that a node
	// below has one.
	op      string
	changed bool
}

type member struct {
	name   string
	quoted jsontext.Value // name as it was written
	value  *node
}

// parse reads a document, which the nodes alias.
func parse(raw jsontext.Value) (*node, error) {
	var top *node
	err := jsonwalk.Walk(raw, func(w *jsonwalk.Walker) (err error) {
		top, err = read(w, nil)
		return err
	})
	return top, err
}

func read(w *jsonwalk.Walker, parent *node) (*node, error) {
	n := &node{parent: parent}
	start := w.Offset()
	var err error
	switch w.Kind() {
	case jsontext.KindBeginObject:
		err = n.readMembers(w)
	case jsontext.KindBeginArray:
		err = w.Array(func() error {
			element, failed := read(w, n)
			n.elements = append(n.elements, element)
			return failed
		})
	default:
		err = w.Skip()
	}
	if err != nil {
		return nil, err
	}
	n.raw = w.Since(start)
	return n, nil
}

func (n *node) readMembers(w *jsonwalk.Walker) error {
	behind := w.Offset()
	return w.Object(func(name string) error {
		// Between the last value and this one stand a name and delimiters, before the first also the brace.
		quoted := bytes.TrimLeft(w.Since(behind), "{ \t\r\n")
		value, err := read(w, n)
		n.members = append(n.members, member{name: name, quoted: quoted, value: value})
		behind = w.Offset()
		return err
	})
}

// kind is the value's kind. It never changes, since a change below does not change the delimiter.
func (n *node) kind() jsontext.Kind { return n.raw.Kind() }

// object is a member that is an object, or nil.
func (n *node) object(name string) *node {
	if value := n.get(name); value != nil && value.kind() == jsontext.KindBeginObject {
		return value
	}
	return nil
}

// get is a member's value; nil if it is absent or null, which Kubernetes takes for the same. Of members with one name
// the last counts, as in every decoder of Go.
func (n *node) get(name string) *node {
	if i := n.index(name); i >= 0 && n.members[i].value.kind() != jsontext.KindNull {
		return n.members[i].value
	}
	return nil
}

func (n *node) index(name string) int {
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].name == name {
			return i
		}
	}
	return -1
}

// text is the string that a member holds, "" if it holds none.
func (n *node) text(name string) string {
	value := n.get(name)
	if value == nil {
		return ""
	}
	return value.string()
}

// string is the value of a string, "" of any other kind.
func (n *node) string() string {
	if n.kind() != jsontext.KindString {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, n.raw)
	if err != nil {
		return "" // invalid UTF-8, the only fault that a string which was read can have
	}
	return string(text)
}

// put gives an object a member, in the place of the one that has its name. op is the JSON Patch operation that says so:
// "add" for what was absent or empty, "replace" for what loses a value.
func (n *node) put(op, name string, value jsontext.Value) {
	i := n.index(name)
	if i < 0 {
		i = len(n.members)
		n.members = append(n.members, member{name: name, quoted: quote(name)})
	}
	n.putAt(op, i, value)
}

// putAt is put for the member at an index.
func (n *node) putAt(op string, i int, value jsontext.Value) {
	n.members[i].value = &node{raw: value, parent: n, op: op}
	for above := n; above != nil && !above.changed; above = above.parent {
		above.changed = true
	}
}

// appendTo appends the value with its changes.
func (n *node) appendTo(out jsontext.Value) jsontext.Value {
	if !n.changed {
		return append(out, n.raw...)
	}
	if n.kind() == jsontext.KindBeginArray {
		out = append(out, '[')
		for i, element := range n.elements {
			out = element.appendTo(comma(out, i))
		}
		return append(out, ']')
	}
	out = append(out, '{')
	for i, m := range n.members {
		out = append(append(comma(out, i), m.quoted...), ':')
		out = m.value.appendTo(out)
	}
	return append(out, '}')
}

func comma(out jsontext.Value, i int) jsontext.Value {
	if i > 0 {
		out = append(out, ',')
	}
	return out
}
