package validators_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"

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
	outcomes := make(denials)
	results, err := tester.NewRunner().SetParallel(1).SetStore(store).AddCustomBuiltins(builtins).SetModules(modules).RaiseBuiltinErrors(false).
		SetCoverageQueryTracer(outcomes).SetTimeout(patience).RunTests(t.Context(), txn)
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
	for name, module := range modules {
		outcomes.check(t, name, module, modules)
	}
}

// patience is for a machine that does much else: what hangs is found as well.
const patience = time.Minute

// denials are the deny rules, by location, that some test in Rego made an outcome.
type denials map[string]bool

func (denials) Enabled() bool { return true }

func (denials) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent enters a rule that was left with a value: one whose body did not hold is never left.
func (d denials) TraceEvent(event topdown.Event) {
	if rule, ok := event.Node.(*ast.Rule); ok && event.Op == topdown.ExitOp && isDenial(rule) {
		d[rule.Location.String()] = true
	}
}

func isDenial(rule *ast.Rule) bool { return rule.Head.Ref().String() == "deny" }

// check wants tests beside the rules of a kind and what kinds share, and each of its rules among the outcomes.
func (d denials) check(t *testing.T, name string, module *ast.Module, all map[string]*ast.Module) {
	t.Helper()
	if strings.HasSuffix(name, "_test.rego") {
		return
	}
	kind := strings.TrimSuffix(name, path.Ext(name))
	var missing []string
	for _, rule := range module.Rules {
		if isDenial(rule) && !d[rule.Location.String()] {
			missing = append(missing, rule.Location.String())
		}
	}
	if all[kind+"_test.rego"] == nil || len(missing) > 0 {
		t.Errorf("%s_test.rego is missing, or no test of it has these rules as an outcome: %v", kind, missing)
	}
}
