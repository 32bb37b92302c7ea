package sidecarset

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// stringMember is one string member of an object, "" if it is missing.
func stringMember(raw jsontext.Value, member string) (value string, err error) {
	err = jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) (err error) {
			if name == member {
				value, err = w.String()
			}
			return err
		})
	})
	return value, err
}

// member is one member of an object, nil if it is missing.
func member(raw jsontext.Value, name string) (value jsontext.Value, err error) {
	err = jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(found string) (err error) {
			if found == name {
				value, err = w.Value()
			}
			return err
		})
	})
	return value, err
}

// nameOf is the member name of an object.
func nameOf(raw jsontext.Value) (string, error) { return stringMember(raw, "name") }

// nameOfObject is the metadata.name of an object.
func nameOfObject(raw jsontext.Value) (name string, err error) {
	err = jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(member string) error {
			if member != "metadata" {
				return nil
			}
			return w.Object(func(member string) (err error) {
				if member == "name" {
					name, err = w.String()
				}
				return err
			})
		})
	})
	return name, err
}

// editObject copies an object: members in drop are left out, the others keep their bytes and order, and the members of
// set, in pairs of name and value, come last.
func editObject(raw jsontext.Value, drop []string, set ...any) (jsontext.Value, error) {
	out := jsontext.Value{'{'}
	err := jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) error {
			if slices.Contains(drop, name) {
				return nil
			}
			start := w.Offset()
			if err := w.Skip(); err != nil {
				return err
			}
			out = appendMember(out, name, w.Since(start))
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(set); i += 2 {
		out = appendMember(out, set[i].(string), set[i+1].(jsontext.Value))
	}
	return append(out, '}'), nil
}

// appendMember adds a member to an object that is not closed yet.
func appendMember(object jsontext.Value, name string, value jsontext.Value) jsontext.Value {
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = jsontree.AppendQuote(object, name)
	object = append(object, ':')
	return append(object, value...)
}
