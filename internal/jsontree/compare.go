package jsontree

import (
	"bytes"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Equal says whether two values are the same JSON: the order of members, white space and the spelling of strings do not
// matter, the spelling of numbers does. nil is what is absent, and differs from null.
func Equal(a, b *Node) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case a.Kind() != b.Kind():
		return false
	case !a.changed && !b.changed && bytes.Equal(a.raw, b.raw):
		return true
	}
	switch a.Kind() {
	case jsontext.KindBeginObject:
		return equalMembers(a, b)
	case jsontext.KindBeginArray:
		return slices.EqualFunc(a.Elements(), b.Elements(), Equal)
	case jsontext.KindString:
		return a.Text() == b.Text()
	default:
		return bytes.Equal(a.raw, b.raw)
	}
}

// equalMembers is called on objects without regard to members that a later one of the same name hides.
func equalMembers(a, b *Node) bool {
	names := a.Names()
	if len(names) != len(b.Names()) {
		return false
	}
	for _, name := range names {
		if !Equal(a.Lookup(name), b.Lookup(name)) {
			return false
		}
	}
	return true
}

// Names are those of an object's members, sorted, each once.
func (n *Node) Names() []string {
	members := n.Members()
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Hash is a short text that two equal values share, and that two different ones hardly ever do. nil has "".
func (n *Node) Hash() string {
	if n == nil {
		return ""
	}
	h := fnv.New64a()
	_, _ = h.Write(n.appendCanonical(nil)) // a hash never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

// appendCanonical appends the one spelling that all equal values share.
func (n *Node) appendCanonical(out []byte) []byte {
	switch n.Kind() {
	case jsontext.KindBeginObject:
		out = append(out, '{')
		for i, name := range n.Names() {
			out = append(append(comma(out, i), Quote(name)...), ':')
			out = n.Lookup(name).appendCanonical(out)
		}
		return append(out, '}')
	case jsontext.KindBeginArray:
		out = append(out, '[')
		for i, element := range n.Elements() {
			out = element.appendCanonical(comma(out, i))
		}
		return append(out, ']')
	case jsontext.KindString:
		return append(out, Quote(n.Text())...)
	default:
		return append(out, n.raw...)
	}
}

// Path is where the value is, as Kubernetes spells the path of a field: "spec.containers[2].image" or
// "metadata.annotations[example.com/key]". It is "" for the top.
func (n *Node) Path() string {
	if n.parent == nil {
		return ""
	}
	above := n.parent.Path()
	for i, element := range n.parent.elements {
		if element == n {
			return above + "[" + strconv.Itoa(i) + "]"
		}
	}
	for _, m := range n.parent.members {
		if m.Value == n {
			return Field(above, m.Name)
		}
	}
	return above
}

// Field is the path of a member of what is at a path.
func Field(path, name string) string {
	switch {
	case strings.ContainsAny(name, "./"):
		return path + "[" + name + "]"
	case path == "":
		return name
	default:
		return path + "." + name
	}
}
