package conversion

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// work is an object that is being translated. Its methods take a nil node for one that is absent.
type work struct {
	top *jsontree.Node
	// err is the first field that could not be read.
	err *FieldError
	// notes are what was given up, for the log.
	notes []string
}

func (w *work) fail(path, format string, args ...any) {
	if w.err == nil {
		w.err = &FieldError{Field: path, Err: fmt.Errorf(format, args...)}
	}
}

func (w *work) expect(n *jsontree.Node, kind jsontext.Kind, what string) bool {
	if n == nil {
		return false
	}
	if n.Kind() != kind {
		w.fail(n.Path(), "expected %s, found %s", what, n.Kind())
		return false
	}
	return true
}

// object is a member that is an object, nil if it is absent.
func (w *work) object(n *jsontree.Node, name string) *jsontree.Node {
	member := get(n, name)
	if !w.expect(member, jsontext.KindBeginObject, "an object") {
		return nil
	}
	return member
}

// ensure is a member that is an object; it is made if it is absent.
func (w *work) ensure(n *jsontree.Node, name string) *jsontree.Node {
	if n != nil && n.Get(name) == nil {
		return n.Set(name, jsontext.Value("{}"))
	}
	return w.object(n, name)
}

// objects are the elements of a member that is a list of objects.
func (w *work) objects(n *jsontree.Node, name string) []*jsontree.Node {
	list := get(n, name)
	if !w.expect(list, jsontext.KindBeginArray, "a list") {
		return nil
	}
	for _, element := range list.Elements() {
		if !w.expect(element, jsontext.KindBeginObject, "an object") {
			return nil
		}
	}
	return list.Elements()
}

// text is a member that is a string, "" if it is absent.
func (w *work) text(n *jsontree.Node, name string) string {
	member := get(n, name)
	if !w.expect(member, jsontext.KindString, "a string") {
		return ""
	}
	return member.Text()
}

// flag is a member that is a boolean, false if it is absent.
func (w *work) flag(n *jsontree.Node, name string) bool {
	member := get(n, name)
	if member == nil {
		return false
	}
	switch member.Kind() {
	case jsontext.KindTrue:
		return true
	case jsontext.KindFalse:
	default:
		w.fail(member.Path(), "expected a boolean, found %s", member.Kind())
	}
	return false
}

func get(n *jsontree.Node, name string) *jsontree.Node {
	if n == nil {
		return nil
	}
	return n.Get(name)
}

func set(n *jsontree.Node, name, text string) { n.Set(name, jsontree.Quote(text)) }

func remove(n *jsontree.Node, names ...string) {
	if n == nil {
		return
	}
	for _, name := range names {
		n.Remove(name)
	}
}

func rename(n *jsontree.Node, from, to string) {
	if n != nil {
		n.Rename(from, to)
	}
}

// move takes a member from one object to another.
func move(from, to *jsontree.Node, name string) {
	if value := from.Lookup(name); value != nil {
		to.Set(name, value.Bytes())
		from.Remove(name)
	}
}

// prune removes a member that is an empty object.
func prune(n *jsontree.Node, name string) {
	if member := get(n, name); member.IsObject() && len(member.Members()) == 0 {
		n.Remove(name)
	}
}

// annotations and labels are the two maps of metadata that a conversion may change.
const (
	annotations = "annotations"
	labels      = "labels"
)

// tag is an annotation or label, and whether there is one.
func (w *work) tag(which, key string) (string, bool) {
	tags := w.object(w.object(w.top, "metadata"), which)
	if get(tags, key) == nil {
		return "", false
	}
	return w.text(tags, key), true
}

func (w *work) setTag(which, key, text string) {
	if tags := w.ensure(w.ensure(w.top, "metadata"), which); tags != nil {
		set(tags, key, text)
	}
}

// removeTag removes an annotation or label, and the map if nothing else is in it.
func (w *work) removeTag(which, key string) {
	metadata := w.object(w.top, "metadata")
	if tags := w.object(metadata, which); tags != nil && tags.Remove(key) {
		prune(metadata, which)
	}
}

func (w *work) note(path, format string, args ...any) {
	w.notes = append(w.notes, path+": "+fmt.Sprintf(format, args...))
}

// annotationPath is the path of an annotation.
func annotationPath(key string) string {
	return jsontree.Field(jsontree.Field("metadata", annotations), key)
}

// list joins what a message offers.
func list(texts []string) string { return strings.Join(texts, ", ") }
