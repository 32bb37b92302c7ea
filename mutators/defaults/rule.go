package defaults

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// rule is one line of a table: it writes one default into an object, or leads to the rules of a part of it. Rules
// ignore values of another kind than they expect: refusing those is for who decodes or validates the object.
type rule func(object *jsontree.Node)

func apply(rules []rule, object *jsontree.Node) {
	for _, r := range rules {
		r(object)
	}
}

// unset is the default of a member that may have any value once it is there, such as a mode of 0 (a pointer in the Go
// types).
func unset[T string | int | bool](name string, value T) rule {
	written := literal(value)
	return func(object *jsontree.Node) {
		if object.Get(name) == nil {
			object.Put(jsontree.Add, name, written)
		}
	}
}

// empty is the default of a member whose "" or 0 says as much as its absence (no pointer in the Go types).
func empty[T string | int](name string, value T) rule {
	written, zero := literal(value), literal(*new(T))
	return func(object *jsontree.Node) {
		if v := object.Get(name); v == nil || string(v.Bytes()) == string(zero) {
			object.Put(jsontree.Add, name, written)
		}
	}
}

// derived is the default of a string that depends on the rest of the object.
func derived(name string, value func(object *jsontree.Node) string) rule {
	return func(object *jsontree.Node) { empty(name, value(object))(object) }
}

// in leads into a member that is an object.
func in(name string, rules ...rule) rule {
	return func(object *jsontree.Node) {
		if part := object.Object(name); part != nil {
			apply(rules, part)
		}
	}
}

// ensure leads into a member that is an object, which it makes if need be.
func ensure(name string, rules ...rule) rule {
	return func(object *jsontree.Node) {
		if object.Get(name) == nil {
			object.Put(jsontree.Add, name, jsontext.Value("{}"))
		}
		in(name, rules...)(object)
	}
}

// each leads into the objects of a member that is a list.
func each(name string, rules ...rule) rule {
	return func(object *jsontree.Node) {
		list := object.Get(name)
		if list == nil {
			return
		}
		for _, element := range list.Elements() {
			if element.Kind() == jsontext.KindBeginObject {
				apply(rules, element)
			}
		}
	}
}

func literal[T string | int | bool](value T) jsontext.Value {
	switch v := any(value).(type) {
	case string:
		return jsontree.Quote(v)
	case int:
		return strconv.AppendInt(nil, int64(v), 10)
	default:
		return strconv.AppendBool(nil, v.(bool))
	}
}
