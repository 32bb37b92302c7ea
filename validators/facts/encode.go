package facts

import (
	"fmt"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// encode writes a Rego value as JSON, with the keys of objects sorted. Going through Go's maps, as OPA does, costs several
// times as much, which counts for templates.
func encode(t *ast.Term) ([]byte, error) { return appendJSON(nil, t.Value) }

func appendJSON(out []byte, value ast.Value) (_ []byte, err error) {
	switch v := value.(type) {
	case ast.Object:
		out = append(out, '{')
		for i, key := range v.Keys() { // sorted
			if i > 0 {
				out = append(out, ',')
			}
			name, ok := key.Value.(ast.String)
			if !ok {
				return nil, fmt.Errorf("writing JSON: %s is no name of a member", key)
			}
			out = append(jsontree.AppendQuote(out, string(name)), ':')
			if out, err = appendJSON(out, v.Get(key).Value); err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	case *ast.Array:
		out = append(out, '[')
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendJSON(out, v.Elem(i).Value); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case ast.String:
		return jsontree.AppendQuote(out, string(v)), nil
	case ast.Number:
		return append(out, v...), nil
	case ast.Boolean:
		return strconv.AppendBool(out, bool(v)), nil
	case ast.Null:
		return append(out, "null"...), nil
	default:
		return nil, fmt.Errorf("writing JSON: %s is no value of it", value)
	}
}
