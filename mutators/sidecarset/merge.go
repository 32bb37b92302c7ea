package sidecarset

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// mergeJSON is the RFC 7396 merge of two texts. An empty old value takes the patch as it is, and so does one that took
// it before; one that says the same after the merge stays as it is spelt. The error is for what is no JSON. A library's
// merge would not do: those that there are drop null from arrays too, and refuse null as the old value.
func mergeJSON(old, patch string) (string, error) {
	if old == "" || old == patch {
		return patch, nil
	}
	target, err := parseMergeable(old)
	if err != nil {
		return "", err
	}
	changes, err := parseMergeable(patch)
	if err != nil {
		return "", err
	}
	merged := target.merge(changes).append(nil)
	if sameText(jsontext.Value(old), merged) {
		return old, nil
	}
	return string(merged), nil
}

// mergeable is a JSON value, read as far as a merge looks into it: objects in objects.
type mergeable struct {
	raw jsontext.Value // of what is no object; nil for null
	// members are those of an object, in the order of names; nil for what is none. Of several with one name the last counts.
	members map[string]*mergeable
	names   []string
}

func parseMergeable(text string) (value *mergeable, err error) {
	raw := jsontext.Value(text)
	if err = raw.Compact(readOptions); err != nil {
		return nil, err
	}
	err = jsonwalk.Walk(raw, func(w *jsonwalk.Walker) (err error) {
		value, err = readMergeable(w)
		return err
	})
	return value, err
}

func readMergeable(w *jsonwalk.Walker) (*mergeable, error) {
	if w.Kind() != jsontext.KindBeginObject {
		raw, err := w.Value()
		return &mergeable{raw: raw}, err
	}
	object := &mergeable{members: map[string]*mergeable{}}
	return object, w.Object(func(name string) error {
		value, err := readMergeable(w)
		object.put(name, value)
		return err
	})
}

func (m *mergeable) put(name string, value *mergeable) {
	if _, there := m.members[name]; !there {
		m.names = append(m.names, name)
	}
	m.members[name] = value
}

// merge is MergePatch of RFC 7396. m is nil for a member that is not there, and must not be used afterwards.
func (m *mergeable) merge(patch *mergeable) *mergeable {
	if patch.members == nil {
		return patch // an array is taken as it is, with the nulls in it
	}
	if m == nil || m.members == nil {
		m = &mergeable{members: map[string]*mergeable{}}
	}
	for _, name := range patch.names {
		value := patch.members[name]
		if value.members == nil && value.raw == nil {
			delete(m.members, name)
			m.names = slices.DeleteFunc(m.names, func(n string) bool { return n == name })
			continue
		}
		m.put(name, m.members[name].merge(value))
	}
	return m
}

// append writes the value as compact JSON.
func (m *mergeable) append(dst jsontext.Value) jsontext.Value {
	switch {
	case m.members != nil:
		dst = append(dst, '{')
		for i, name := range m.names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontree.AppendQuote(dst, name), ':')
			dst = m.members[name].append(dst)
		}
		return append(dst, '}')
	case m.raw == nil:
		return append(dst, "null"...)
	default:
		return append(dst, m.raw...)
	}
}

// sameText tells whether two JSON texts differ at most in white space and the order of members.
func sameText(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	for _, v := range []*jsontext.Value{&a, &b} {
		if err := v.Format(readOptions, jsontext.ReorderRawObjects(true)); err != nil {
			return false
		}
	}
	return bytes.Equal(a, b)
}
