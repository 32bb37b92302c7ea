package jsontree

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// Node is a value of a JSON document that remembers how it differs from the document as sent.
type Node struct {
	// raw is the value as sent, or as it was put; stale once something below it changed.
	raw    jsontext.Value
	parent *Node
	// opened says that members or elements are read.
	opened   bool
	members  []Member
	elements []*Node

	// op is what put this node where it is, "" if it was sent. changed says that a node below has one.
	op      Op
	changed bool
}

// Member is a named value of an object.
type Member struct {
	Name   string
	Value  *Node
	quoted jsontext.Value // Name as it was written
	ours   bool           // it was not in the document as sent
}

// Op is the operation of JSON Patch (RFC 6902) that makes a change.
type Op string

// Add is for what was absent or empty, Replace for what loses a value.
const (
	Add     Op = "add"
	Replace Op = "replace"
	remove  Op = "remove"
)

// Parse reads a document, which the nodes alias.
func Parse(raw jsontext.Value) (*Node, error) {
	top := &Node{}
	err := jsonwalk.Walk(raw, func(w *jsonwalk.Walker) (err error) {
		start := w.Offset()
		if w.Kind() == jsontext.KindBeginObject {
			top.opened = true // on the pass that checks the document anyway
			err = top.readMembers(w)
		} else {
			err = w.Skip()
		}
		top.raw = w.Since(start)
		return err
	})
	if err != nil {
		return nil, err
	}
	return top, nil
}

// Clone is a copy that can be changed by itself. It costs as much as was opened, not as the document is long.
func (n *Node) Clone() *Node { return n.clone(nil) }

func (n *Node) clone(parent *Node) *Node {
	c := &Node{raw: n.raw, parent: parent, opened: n.opened, op: n.op, changed: n.changed}
	if len(n.members) > 0 {
		c.members = make([]Member, len(n.members))
		for i, m := range n.members {
			m.Value = m.Value.clone(c)
			c.members[i] = m
		}
	}
	if len(n.elements) > 0 {
		c.elements = make([]*Node, len(n.elements))
		for i, element := range n.elements {
			c.elements[i] = element.clone(c)
		}
	}
	return c
}

// read makes a node of the next value. It only looks for the value's end.
func read(w *jsonwalk.Walker, parent *Node) (*Node, error) {
	start := w.Offset()
	if err := w.Skip(); err != nil {
		return nil, err
	}
	return &Node{raw: w.Since(start), parent: parent}, nil
}

// open reads what is directly below n.
func (n *Node) open() {
	if n.opened {
		return
	}
	n.opened = true
	// It cannot fail: the document was read once already, to its end.
	_ = jsonwalk.Walk(n.raw, func(w *jsonwalk.Walker) error {
		switch n.Kind() {
		case jsontext.KindBeginObject:
			return n.readMembers(w)
		case jsontext.KindBeginArray:
			return w.Array(func() error {
				element, err := read(w, n)
				n.elements = append(n.elements, element)
				return err
			})
		default:
			return w.Skip()
		}
	})
}

func (n *Node) readMembers(w *jsonwalk.Walker) error {
	behind := w.Offset()
	return w.Object(func(name string) error {
		// Between the last value and this one stand a name and delimiters, before the first also the brace.
		quoted := bytes.TrimLeft(w.Since(behind), "{ \t\r\n")
		value, err := read(w, n)
		n.members = append(n.members, Member{Name: name, Value: value, quoted: quoted})
		behind = w.Offset()
		return err
	})
}

// Kind is the value's kind. It never changes, since a change below does not change the delimiter.
func (n *Node) Kind() jsontext.Kind { return n.raw.Kind() }

// IsObject says whether n is an object; nil is none.
func (n *Node) IsObject() bool { return n != nil && n.Kind() == jsontext.KindBeginObject }

// IsArray says whether n is an array; nil is none.
func (n *Node) IsArray() bool { return n != nil && n.Kind() == jsontext.KindBeginArray }

// Members are those of an object, in their order; of members with one name, all.
func (n *Node) Members() []Member {
	n.open()
	if !n.changed {
		return n.members
	}
	kept := make([]Member, 0, len(n.members))
	for _, m := range n.members {
		if m.Value.op != remove {
			kept = append(kept, m)
		}
	}
	return kept
}

// Elements are those of an array.
func (n *Node) Elements() []*Node {
	n.open()
	return n.elements
}

// Lookup is a member's value, null included; nil if there is none. Of members with one name the last counts, as in
// every decoder of Go.
func (n *Node) Lookup(name string) *Node {
	if i := n.index(name); i >= 0 {
		return n.members[i].Value
	}
	return nil
}

// Get is a member's value; nil if it is absent or null, which Kubernetes takes for the same.
func (n *Node) Get(name string) *Node {
	if value := n.Lookup(name); value != nil && value.Kind() != jsontext.KindNull {
		return value
	}
	return nil
}

// Object is a member that is an object, or nil.
func (n *Node) Object(name string) *Node {
	if value := n.Get(name); value.IsObject() {
		return value
	}
	return nil
}

// TextOf is the string that a member holds, "" if it holds none.
func (n *Node) TextOf(name string) string {
	value := n.Get(name)
	if value == nil {
		return ""
	}
	return value.Text()
}

// Text is the value of a string, "" of any other kind.
func (n *Node) Text() string {
	if n.Kind() != jsontext.KindString {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, n.raw)
	if err != nil {
		return "" // invalid UTF-8, the only fault that a string which was read can have
	}
	return string(text)
}

// index finds the last member of a name that is not removed.
func (n *Node) index(name string) int {
	n.open()
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].Name == name && n.members[i].Value.op != remove {
			return i
		}
	}
	return -1
}
