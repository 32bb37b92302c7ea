package defaults

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// patch is the RFC 6902 document that makes the document as sent into the one that n, its top, has become; nil if they
// are the same. An object of ours is one operation with all that is in it.
func (n *node) patch() jsontext.Value {
	ops := n.appendOps(nil, "")
	if ops == nil {
		return nil
	}
	return append(ops, ']')
}

func (n *node) appendOps(ops jsontext.Value, path string) jsontext.Value {
	switch {
	case n.op != "":
		return appendOp(ops, n.op, path, n.appendTo(nil))
	case !n.changed:
		return ops
	}
	for i, element := range n.elements {
		ops = element.appendOps(ops, path+"/"+strconv.Itoa(i))
	}
	for _, m := range n.members {
		if m.value.op != "" || m.value.changed {
			ops = m.value.appendOps(ops, path+"/"+escape(m.name))
		}
	}
	return ops
}

func appendOp(ops jsontext.Value, op, path string, value jsontext.Value) jsontext.Value {
	if ops == nil {
		ops = append(ops, '[')
	} else {
		ops = append(ops, ',')
	}
	ops = append(append(append(ops, `{"op":"`...), op...), `","path":`...)
	ops = append(append(ops, quote(path)...), `,"value":`...)
	return append(append(ops, value...), '}')
}

// escape makes a member's name a token of an RFC 6901 pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// quote makes a JSON string. Invalid UTF-8 becomes U+FFFD, which is what the API server makes of it too.
func quote(s string) jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, s)
	return quoted
}
