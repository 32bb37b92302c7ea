package validators

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/types"
)

// Builtin is a function in Go that rules may call.
type Builtin struct {
	// Name is what rules call it, such as fairlead.regex_error.
	Name string
	// Arity is how many arguments it takes, of any type.
	Arity int
	// Asks is set for builtins that look something up: asked the same twice in one evaluation, they answer the same.
	Asks bool
	// Call answers. An error ends the evaluation: it says that nobody can tell, never that the object is wrong.
	Call func(ctx context.Context, args []*ast.Term) (*ast.Term, error)
}

func (b Builtin) declaration() *ast.Builtin {
	return &ast.Builtin{Name: b.Name, Decl: b.signature(), Nondeterministic: b.Asks}
}

func (b Builtin) signature() *types.Function {
	args := make([]types.Type, b.Arity)
	for i := range args {
		args[i] = types.A
	}
	return types.NewFunction(args, types.A)
}

// option adds the builtin to a query.
func (b Builtin) option() func(*rego.Rego) {
	declaration := &rego.Function{Name: b.Name, Decl: b.signature(), Memoize: b.Asks, Nondeterministic: b.Asks}
	return rego.FunctionDyn(declaration, func(call rego.BuiltinContext, args []*ast.Term) (*ast.Term, error) {
		result, err := b.contained(call.Context, args[:b.Arity])
		if err != nil {
			return nil, rego.NewHaltError(err)
		}
		return result, nil
	})
}

// contained makes a panic an error: a mistake in one builtin must not end a process that answers for a whole cluster.
func (b Builtin) contained(ctx context.Context, args []*ast.Term) (result *ast.Term, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("calling %s: panic: %v", b.Name, cause)
		}
	}()
	if result, err = b.Call(ctx, args); err != nil {
		return nil, fmt.Errorf("calling %s: %w", b.Name, err)
	}
	return result, nil
}
