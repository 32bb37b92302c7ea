package validators

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mostElements is how many elements the lists, and members the objects, that rules go through may have together. Whoever sends an
// object decides how many there are: 1.5 MB have room for half a million, which take rules a minute of CPU. Real objects have some
// dozens, and of so many as this all rules together take a second.
const mostElements = 20_000

// tooMany says of an object that it has more elements than rules can go through.
func tooMany(input ast.Object) *Violation {
	now := census(input.Get(objectTerm).Value)
	if now.total <= mostElements {
		return nil
	}
	return &Violation{Field: now.field, Type: field.ErrorTypeTooMany, Code: http.StatusUnprocessableEntity, Body: fmt.Sprintf(
		"%s: %d: this and all that is judged with it must have at most %d items and fields", field.ErrorTypeTooMany, now.largest, mostElements)}
}

var objectTerm, specTerm = ast.StringTerm("object"), ast.StringTerm("spec")

// count is how many elements and members there are, and where most are.
type count struct {
	total, largest int
	field          string
}

// census counts what is in a spec.
func census(object ast.Value) count {
	var c count
	if whole, is := object.(ast.Object); is {
		if spec := whole.Get(specTerm); spec != nil {
			c.walk([]string{"spec"}, spec.Value)
		}
	}
	return c
}

func (c *count) walk(at []string, value ast.Value) {
	switch v := value.(type) {
	case ast.Object:
		c.add(at, v.Len())
		v.Foreach(func(key, member *ast.Term) {
			name, _ := key.Value.(ast.String)
			if hasParts(member.Value) && !whole(at, string(name), member.Value) {
				c.walk(append(at, "."+string(name)), member.Value)
			}
		})
	case *ast.Array:
		c.add(at, v.Len())
		for i := range v.Len() {
			if element := v.Elem(i).Value; hasParts(element) {
				c.walk(append(at, "["+strconv.Itoa(i)+"]"), element)
			}
		}
	}
}

func hasParts(value ast.Value) bool {
	switch value.(type) {
	case ast.Object, *ast.Array:
		return true
	}
	return false
}

func (c *count) add(at []string, n int) {
	c.total += n
	if n > c.largest {
		c.largest, c.field = n, strings.Join(at, "")
	}
}

// whole says whether rules leave a member to the API server, or compare it as a whole: Pod templates, what is distributed or patched,
// and what containers have of Pods'.
func whole(at []string, name string, value ast.Value) bool {
	switch name {
	case "patch", "resource":
		return true
	case "template":
		object, is := value.(ast.Object)
		return is && object.Get(specTerm) != nil
	case "transferEnv", "volumeMounts":
		return false
	}
	return len(at) > 2 && slices.Contains(parts, at[len(at)-2])
}

// parts are lists of what Pods are made of.
var parts = []string{".containers", ".ephemeralContainers", ".initContainers", ".volumes"}
