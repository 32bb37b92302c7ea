package validators

import (
	"context"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/tester"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Violated are the ids of the rules that a request violates.
func Violated(ctx context.Context, e *Engine, kind schema.GroupKind, req *admission.Request) (ids []string, err error) {
	input, err := inputOf(req)
	if err != nil {
		return nil, err
	}
	verdict, err := e.Judge(ctx, strings.TrimSuffix(kind.Group, groupSuffix)+"/"+strings.ToLower(kind.Kind), input)
	for _, v := range verdict.Violations {
		ids = append(ids, v.Rule)
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// AllModules are the embedded rules and their tests.
func AllModules() (map[string]string, error) { return modules(func(string) bool { return true }) }

// ForTester is a builtin as OPA's tester takes it.
func ForTester(b Builtin) *tester.Builtin {
	return &tester.Builtin{Decl: b.declaration(), Func: b.option()}
}
