package jsontree

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Set gives an object a member, in the place of the one that has its name.
func (n *Node) Set(name string, value jsontext.Value) *Node {
	if n.Lookup(name) == nil {
		return n.Put(Add, name, value)
	}
	return n.Put(Replace, name, value)
}

// Put is Set with the operation that a patch shall have for it.
func (n *Node) Put(op Op, name string, value jsontext.Value) *Node {
	if old := n.Lookup(name); old != nil {
		old.Overwrite(op, value)
		return old
	}
	child := &Node{raw: value, parent: n, op: op}
	n.members = append(n.members, Member{Name: name, Value: child, quoted: Quote(name), ours: true})
	n.touch()
	return child
}

// Overwrite gives a node that is not the top another value. op is what a patch shall have for it.
func (n *Node) Overwrite(op Op, value jsontext.Value) {
	*n = Node{raw: value, parent: n.parent, op: op}
	n.parent.touch()
}

// Remove takes a member away, every one of that name. It says whether there was one.
func (n *Node) Remove(name string) bool {
	if n.index(name) < 0 {
		return false
	}
	n.members = slices.DeleteFunc(n.members, func(m Member) bool { return m.Name == name && m.ours })
	for i := n.index(name); i >= 0; i = n.index(name) {
		n.members[i].Value.Overwrite(remove, n.members[i].Value.raw)
	}
	n.touch()
	return true
}

// Rename gives a member another name and says whether there was one. A member that has the new name is replaced.
func (n *Node) Rename(from, to string) bool {
	value := n.Lookup(from)
	if value == nil {
		return false
	}
	n.Set(to, value.Bytes())
	n.Remove(from)
	return true
}

func (n *Node) touch() {
	for above := n; above != nil && !above.changed; above = above.parent {
		above.changed = true
	}
}

// roomForChanges is what most changes add to a value at most: without it a large value would be copied twice.
const roomForChanges = 256

// Bytes is the value with its changes. It may alias the document.
func (n *Node) Bytes() jsontext.Value {
	if !n.changed {
		return n.raw
	}
	return n.AppendTo(make(jsontext.Value, 0, len(n.raw)+roomForChanges))
}

// AppendTo appends the value with its changes.
func (n *Node) AppendTo(out jsontext.Value) jsontext.Value {
	if !n.changed {
		return append(out, n.raw...)
	}
	if n.Kind() == jsontext.KindBeginArray {
		out = append(out, '[')
		for i, element := range n.elements {
			out = element.AppendTo(comma(out, i))
		}
		return append(out, ']')
	}
	out = append(out, '{')
	for i, m := range n.Members() {
		out = append(append(comma(out, i), m.quoted...), ':')
		out = m.Value.AppendTo(out)
	}
	return append(out, '}')
}

func comma(out jsontext.Value, i int) jsontext.Value {
	if i > 0 {
		out = append(out, ',')
	}
	return out
}

// Quote makes a JSON string. Invalid UTF-8 becomes U+FFFD, which is what the API server makes of it too.
func Quote(s string) jsontext.Value { return AppendQuote(jsontext.Value(nil), s) }

// AppendQuote appends what Quote makes.
func AppendQuote[Bytes ~[]byte](to Bytes, s string) Bytes {
	to, _ = jsontext.AppendQuote(to, s)
	return to
}
