package decoding

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// explain says what a value must be, and what it is.
func explain(e *json.SemanticError) string {
	t := e.GoType
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	must := "must be " + wanted(t)
	switch {
	case t == reflect.TypeFor[resource.Quantity]() && e.Err != nil:
		return e.Err.Error() + "; it " + must // what is wrong with a text, the parser knows
	case e.JSONKind == jsontext.KindNumber && isInteger(t):
		return fmt.Sprintf("%s, not %s", must, e.JSONValue)
	case t != nil && t.Kind() == reflect.String && looksLikeAnother(e.JSONKind):
		return must + ": put it in quotes"
	case e.JSONKind == jsontext.KindInvalid, e.JSONKind == jsontext.KindNumber && t == intOrString: // which is one of the wrong size or sort
		return must
	default:
		return must + ", not " + Found(e.JSONKind)
	}
}

// looksLikeAnother: YAML takes an unquoted 1, true or no for something else than text.
func looksLikeAnother(kind jsontext.Kind) bool {
	return kind == jsontext.KindNumber || kind == jsontext.KindTrue || kind == jsontext.KindFalse
}

var intOrString = reflect.TypeFor[intstr.IntOrString]()

// special are the types that are not written as their Go kind suggests.
var special = map[reflect.Type]string{
	intOrString:                          `a whole number from -2147483648 to 2147483647, or a string such as "20%"`,
	reflect.TypeFor[resource.Quantity](): "a quantity such as 100m or 64Mi",
	reflect.TypeFor[metav1.Time]():       `a time such as "2006-01-02T15:04:05Z"`,
	reflect.TypeFor[metav1.MicroTime]():  `a time such as "2006-01-02T15:04:05.000000Z"`,
}

// wanted is what to write for a type.
func wanted(t reflect.Type) string {
	if text, known := special[t]; known {
		return text
	}
	switch {
	case isInteger(t):
		low, high := bounds(t)
		return fmt.Sprintf("a whole number from %d to %d", low, high)
	case t == nil:
		return "another value"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false, without quotes"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string of base64"
		}
		return "a list"
	case reflect.Map:
		return "an object of names and values"
	case reflect.Struct:
		return "an object" + example(t)
	default:
		return "another value"
	}
}

// example names the first fields of an object, so that nobody has to look up its kind.
func example(t reflect.Type) string {
	const enough = 3
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && !f.Anonymous && len(names) < enough {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " with fields such as " + strings.Join(names, ", ")
}

func isInteger(t reflect.Type) bool {
	return t != nil && special[t] == "" && t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64
}

func bounds(t reflect.Type) (low, high int64) {
	high = 1<<(t.Bits()-1) - 1
	return -high - 1, high
}

// Found names a kind of value for a message that says what was found instead of something else.
func Found(kind jsontext.Kind) string {
	switch kind {
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "a list"
	case jsontext.KindTrue, jsontext.KindFalse:
		return kind.String()
	case jsontext.KindNull:
		return "null"
	default:
		return "a " + kind.String()
	}
}
