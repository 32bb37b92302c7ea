package validators_test

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/facts"
	"github.com/fairlead-io/fairlead/validators/overlap"
)

// TestRego runs the tests in Rego beside the rules, with OPA's own tester and the builtins of the service.
func TestRego(t *testing.T) {
	sources, err := validators.AllModules()
	if err != nil {
		t.Fatal(err)
	}
	modules := make(map[string]*ast.Module, len(sources))
	for name, source := range sources {
		if modules[name], err = ast.ParseModuleWithOpts(name, source, ast.ParserOptions{RegoVersion: ast.RegoV1}); err != nil {
			t.Fatal(err)
		}
	}
	var builtins []*tester.Builtin
	for _, b := range facts.Builtins(facts.Sources{SidecarSets: overlap.NewIndex()}) {
		builtins = append(builtins, validators.ForTester(b))
	}
	store := inmem.NewFromObject(map[string]any{"inventory": map[string]any{"gates": map[string]any{}}})
	txn, err := store.NewTransaction(t.Context(), storage.WriteParams)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abort(t.Context(), txn)
	results, err := tester.NewRunner().SetStore(store).AddCustomBuiltins(builtins).SetModules(modules).RaiseBuiltinErrors(false).RunTests(t.Context(), txn)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for result := range results {
		if !result.Pass() {
			t.Errorf("%s %s: %v", result.Location, result, result.Error)
			continue
		}
		passed++
	}
	if passed == 0 {
		t.Error("there are no tests")
	}
}
