package conversion

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// record is one thing that the other version cannot spell. An object carries its records in annotations, as JSON lists,
// and is the version that cannot spell them.
//
//	{"path":"/spec/reserveOrdinals","value":[0,"3-4"]}
//
// Converting back puts the value there, unless a client has meanwhile said something else: Was is the hash of what the
// translation by itself gives there, "" for nothing, and With that of what the object says about the record's unit.
type record struct {
	path string
	// in is where the value is below path, "" if it is all that is kept there (see leaves).
	in string
	// value is nil if nothing is to be there.
	value     jsontext.Value
	was, with string
}

// roots are where records may point: a conversion may change nothing else.
var roots = []string{"/spec", "/status", tagPointer(labels) + "/", tagPointer(annotations) + "/"}

func (r record) allowed() bool {
	for _, root := range roots {
		if r.path == root || strings.HasPrefix(r.path, strings.TrimSuffix(root, "/")+"/") {
			return true
		}
	}
	return false
}

func appendRecords(out jsontext.Value, records []record) jsontext.Value {
	for i, r := range records {
		out = append(out, "[,"[min(i, 1)])
		out = append(append(out, `{"path":`...), jsontree.Quote(r.path)...)
		if r.in != "" {
			out = append(append(out, `,"in":`...), jsontree.Quote(r.in)...)
		}
		if r.value != nil {
			out = append(append(out, `,"value":`...), plain(r.value)...)
		}
		if r.was != "" {
			out = append(append(out, `,"was":`...), jsontree.Quote(r.was)...)
		}
		if r.with != "" {
			out = append(append(out, `,"with":`...), jsontree.Quote(r.with)...)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

// plain spells the strings of a value in one way: the API server escapes some characters of what it stores, and a record
// must read the same before and after. Numbers stay as they are written.
func plain(value jsontext.Value) jsontext.Value {
	value = value.Clone()
	err := value.Format(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(false))
	if err != nil {
		panic("conversion: a value was valid JSON when it was read: " + err.Error())
	}
	return value
}

func readRecords(text string) ([]record, error) {
	top, err := jsontree.Parse(jsontext.Value(text))
	if err != nil {
		return nil, err
	}
	w := &work{top: top}
	if !w.expect(top, jsontext.KindBeginArray, "a list") {
		return nil, w.err
	}
	records := make([]record, 0, len(top.Elements()))
	for i, element := range top.Elements() {
		if !w.expect(element, jsontext.KindBeginObject, "an object") {
			return nil, w.err
		}
		r := record{path: w.text(element, "path"), in: w.text(element, "in"), was: w.text(element, "was"), with: w.text(element, "with")}
		if value := element.Lookup("value"); value != nil {
			r.value = value.Bytes()
		}
		if w.err == nil && !r.allowed() {
			w.fail(fmt.Sprintf("[%d].path", i), "%q is not below %s", r.path, list(roots))
		}
		if w.err == nil && r.in != "" && (r.in[0] != '/' || r.value == nil) {
			w.fail(fmt.Sprintf("[%d].in", i), "%q is no pointer to a value", r.in)
		}
		if w.err != nil {
			return nil, w.err
		}
		records = append(records, r)
	}
	return records, nil
}

// apply puts the value where it was, unless what is there is not what it was kept beside.
func (r record) apply(w *work) {
	parent, name := r.split(w.top)
	which, _, isTag := strings.Cut(strings.TrimPrefix(r.path, "/metadata/"), "/")
	isTag = isTag && strings.HasPrefix(r.path, "/metadata/")
	switch {
	case r.at(w.top).Hash() != r.was:
	case isTag && r.value == nil:
		w.removeTag(which, name)
	case isTag && r.value.Kind() == jsontext.KindString:
		w.setTag(which, name, textOf(r.value))
	case isTag:
	case !parent.IsObject():
	case r.value == nil:
		parent.Remove(name)
	default:
		parent.Set(name, r.value)
	}
}

// textOf is the value of a string.
func textOf(value jsontext.Value) string {
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return "" // invalid UTF-8, the only fault that a string which was read can have
	}
	return string(text)
}

// at is what an object has where the record points, nil if nothing.
func (r record) at(top *jsontree.Node) *jsontree.Node {
	parent, name := r.split(top)
	if !parent.IsObject() {
		return nil
	}
	return parent.Lookup(name)
}

func (r record) split(top *jsontree.Node) (parent *jsontree.Node, name string) {
	at := strings.LastIndexByte(r.path, '/')
	return resolve(top, r.path[:at]), jsontree.Unescape(r.path[at+1:])
}

// resolve follows a pointer, whose tokens name members, and elements by their key.
func resolve(n *jsontree.Node, path string) *jsontree.Node {
	for token := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		token = jsontree.Unescape(token)
		switch {
		case token == "" && path == "":
			return n
		case n.IsObject():
			n = n.Get(token)
		case n.IsArray():
			n = elementOf(n, token)
		default:
			return nil
		}
	}
	return n
}

func elementOf(list *jsontree.Node, key string) *jsontree.Node {
	for _, element := range list.Elements() {
		if keyOf(element) == key {
			return element
		}
	}
	return nil
}
