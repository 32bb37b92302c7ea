package facts

import (
	"context"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// sameBut takes two values and a list of those that may as well be left out, and says whether the two are the same without them, and
// without what has nothing else in it.
func sameBut(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	silent, _ := args[2].Value.(*ast.Array)
	var values quiet
	if silent != nil {
		silent.Foreach(func(t *ast.Term) { values = append(values, t.Value) })
	}
	return ast.InternedTerm(values.same(args[0].Value, args[1].Value)), nil
}

// quiet are values that say nothing.
type quiet []ast.Value

// says whether a value says anything; nil is none.
func (q quiet) says(value ast.Value) bool {
	switch v := value.(type) {
	case nil:
		return false
	case ast.Object:
		return v.Until(func(_, member *ast.Term) bool { return q.says(member.Value) })
	case *ast.Array:
		return v.Until(func(element *ast.Term) bool { return q.says(element.Value) })
	default:
		return !slices.ContainsFunc(q, func(one ast.Value) bool { return one.Compare(value) == 0 })
	}
}

func (q quiet) same(before, now ast.Value) bool {
	switch a := before.(type) {
	case ast.Object:
		if b, both := now.(ast.Object); both {
			return q.sameMembers(a, b)
		}
	case *ast.Array:
		if b, both := now.(*ast.Array); both {
			return q.sameElements(a, b)
		}
	}
	if q.says(before) != q.says(now) {
		return false
	}
	return !q.says(before) || before.Compare(now) == 0
}

func (q quiet) sameMembers(a, b ast.Object) bool {
	differ := func(one, other ast.Object) bool {
		return one.Until(func(key, member *ast.Term) bool { return !q.same(member.Value, valueOf(other.Get(key))) })
	}
	return !differ(a, b) && !differ(b, a)
}

func (q quiet) sameElements(a, b *ast.Array) bool {
	for i := range max(a.Len(), b.Len()) {
		if !q.same(element(a, i), element(b, i)) {
			return false
		}
	}
	return true
}

// element is nil beyond the end.
func element(of *ast.Array, i int) ast.Value {
	if i >= of.Len() {
		return nil
	}
	return of.Elem(i).Value
}

func valueOf(t *ast.Term) ast.Value {
	if t == nil {
		return nil
	}
	return t.Value
}
