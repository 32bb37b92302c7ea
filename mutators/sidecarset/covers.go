package sidecarset

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
)

// covers tells whether present says all that desired says. It may say more, which is what defaults do; absent and empty
// are the same; and quantities, which the API server respells, are compared as such. name is that of the member whose
// value they are.
func covers(name string, present, desired jsontext.Value) (bool, error) {
	switch {
	case empty(desired):
		return true, nil
	case present.Kind() != desired.Kind():
		return name == divisor && sameQuantity(present, desired), nil
	case desired.Kind() == jsontext.KindBeginObject:
		return coversObject(name, present, desired)
	case desired.Kind() == jsontext.KindBeginArray:
		return coversArray(present, desired)
	case bytes.Equal(text(present), text(desired)):
		return true, nil
	default:
		return name == divisor && sameQuantity(present, desired), nil
	}
}

func coversObject(name string, present, desired jsontext.Value) (bool, error) {
	is, err := readMembers(present)
	if err != nil {
		return false, err
	}
	should, err := readMembers(desired)
	if err != nil {
		return false, err
	}
	for _, d := range should {
		var value jsontext.Value
		if i := slices.IndexFunc(is, func(m member) bool { return m.name == d.name }); i >= 0 {
			value = is[i].value
		}
		inner := d.name
		if name == "limits" || name == "requests" {
			inner = divisor // a resource, whose name can be anything, is a quantity too
		}
		if ok, err := covers(inner, value, d.value); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func coversArray(present, desired jsontext.Value) (bool, error) {
	is, err := readElements(present)
	if err != nil {
		return false, err
	}
	should, err := readElements(desired)
	if err != nil || len(is) != len(should) {
		return false, err
	}
	for i := range should {
		if ok, err := covers("", is[i], should[i]); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// divisor is the other member of a container that is a quantity, that of a resourceFieldRef.
const divisor = "divisor"

func sameQuantity(a, b jsontext.Value) bool {
	x, err := resource.ParseQuantity(string(text(a)))
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(string(text(b)))
	return err == nil && x.Cmp(y) == 0
}

// text is a string's content, or a number or literal as written.
func text(v jsontext.Value) []byte {
	if v.Kind() != jsontext.KindString {
		return bytes.TrimSpace(v)
	}
	unquoted, err := jsontext.AppendUnquote(nil, v)
	if err != nil && unquoted == nil {
		return v
	}
	return unquoted
}

// empty tells whether a value says no more than its absence.
func empty(v jsontext.Value) bool {
	switch v.Kind() {
	case jsontext.KindString:
		return len(v) == len(`""`)
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		return len(bytes.TrimSpace(v[1:len(v)-1])) == 0
	case jsontext.KindNull:
		return true
	default:
		return len(v) == 0
	}
}
