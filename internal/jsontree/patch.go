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
	var ops Operations
	n.appendOps(&ops, "")
	return ops.Document()
}

func (n *Node) appendOps(ops *Operations, path string) {
	switch {
	case n.op == remove:
		ops.Append(n.op, path, nil)
		return
	case n.op != "":
		ops.Append(n.op, path, n.AppendTo(nil))
		return
	case !n.changed:
		return
	}
	for i, element := range n.elements {
		element.appendOps(ops, path+"/"+strconv.Itoa(i))
	}
	for _, m := range n.members {
		if m.Value.op != "" || m.Value.changed {
			m.Value.appendOps(ops, path+"/"+Escape(m.Name))
		}
	}
}

// Operations is an RFC 6902 document under construction. The zero value has none.
type Operations struct {
	text jsontext.Value // the document without its closing bracket
}

// firstText holds most patches whole: a container or two, their volumes and what the Pod records of them.
const firstText = 2 << 10

// Append adds an operation at an RFC 6901 pointer, whose tokens are escaped already; value is nil for one without.
func (o *Operations) Append(op Op, path string, value jsontext.Value) {
	o.begin(op, path)
	if value != nil {
		o.text = append(append(o.text, `,"value":`...), value...)
	}
	o.text = append(o.text, '}')
}

// AppendText adds an operation whose value is a string.
func (o *Operations) AppendText(op Op, path, value string) {
	o.begin(op, path)
	o.text = append(AppendQuote(append(o.text, `,"value":`...), value), '}')
}

func (o *Operations) begin(op Op, path string) {
	o.next()
	o.text = append(append(append(o.text, `{"op":"`...), op...), `","path":`...)
	o.text = AppendQuote(o.text, path)
}

// Join adds all operations of another document.
func (o *Operations) Join(other Operations) {
	if !other.Empty() {
		o.next()
		o.text = append(o.text, other.text[len("["):]...)
	}
}

// Empty says whether there is no operation.
func (o *Operations) Empty() bool { return len(o.text) == 0 }

// Document is the whole, nil if there is no operation. Nothing can be added afterwards.
func (o *Operations) Document() jsontext.Value {
	if o.Empty() {
		return nil
	}
	return append(o.text, ']')
}

func (o *Operations) next() {
	if o.Empty() {
		o.text = append(make(jsontext.Value, 0, firstText), '[')
		return
	}
	o.text = append(o.text, ',')
}

var escaper, unescaper = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// Escape makes a member's name a token of an RFC 6901 pointer.
func Escape(name string) string { return escaper.Replace(name) }

// Unescape is the inverse of Escape.
func Unescape(token string) string { return unescaper.Replace(token) }
