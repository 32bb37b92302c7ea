package jsontree

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Patch is the RFC 6902 document that makes the document as sent into the one that n, its top, has become; nil if they
// are the same. What was put is one operation with all that is in it. The documents must not have two members of one
// name among those that were removed: a patch cannot say which.
func (n *Node) Patch() jsontext.Value {
	ops := n.appendOps(nil, "")
	if ops == nil {
		return nil
	}
	return append(ops, ']')
}

func (n *Node) appendOps(ops jsontext.Value, path string) jsontext.Value {
	switch {
	case n.op == remove:
		return appendOp(ops, n.op, path, nil)
	case n.op != "":
		return appendOp(ops, n.op, path, n.AppendTo(nil))
	case !n.changed:
		return ops
	}
	for i, element := range n.elements {
		ops = element.appendOps(ops, path+"/"+strconv.Itoa(i))
	}
	for _, m := range n.members {
		if m.Value.op != "" || m.Value.changed {
			ops = m.Value.appendOps(ops, path+"/"+Escape(m.Name))
		}
	}
	return ops
}

func appendOp(ops jsontext.Value, op Op, path string, value jsontext.Value) jsontext.Value {
	if ops == nil {
		ops = append(ops, '[')
	} else {
		ops = append(ops, ',')
	}
	ops = append(append(append(ops, `{"op":"`...), op...), `","path":`...)
	ops = append(ops, Quote(path)...)
	if value != nil {
		ops = append(append(ops, `,"value":`...), value...)
	}
	return append(ops, '}')
}

var escaper, unescaper = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// Escape makes a member's name a token of an RFC 6901 pointer.
func Escape(name string) string { return escaper.Replace(name) }

// Unescape is the inverse of Escape.
func Unescape(token string) string { return unescaper.Replace(token) }
