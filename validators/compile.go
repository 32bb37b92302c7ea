package validators

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
)

// ruleset is a set of rules ready to be asked; it never changes.
type ruleset struct {
	revision revision
	rules    []Rule
	byID     map[string]Rule
	// queries by kind, such as apps/sidecarset.
	queries map[string]rego.PreparedEvalQuery
}

// sharedFolder has what the rules of several kinds call, and no rules.
const sharedFolder = "shared/"

// forbidden says of a builtin of OPA whether rules may not call it: a rule's answer must depend on nothing but what it is
// given, and admission must reach no address that a rule's author chooses.
func forbidden(name string) bool {
	return name == "http.send" || name == "opa.runtime" || strings.HasPrefix(name, "net.")
}

// capabilities are what rules may use: OPA's builtins but the forbidden ones, and ours.
func capabilities(builtins []Builtin) *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	all.Builtins = slices.DeleteFunc(all.Builtins, func(b *ast.Builtin) bool { return forbidden(b.Name) })
	all.AllowNet = []string{}
	for _, b := range builtins {
		all.Builtins = append(all.Builtins, b.declaration())
	}
	return all
}

func parse(sources map[string]string, may *ast.Capabilities) (map[string]*ast.Module, error) {
	parsed := make(map[string]*ast.Module, len(sources))
	var failures []error
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		module, err := ast.ParseModuleWithOpts(name, sources[name], ast.ParserOptions{
			ProcessAnnotation: true, RegoVersion: ast.RegoV1, Capabilities: may,
		})
		if err != nil {
			failures = append(failures, err)
			continue
		}
		parsed[name] = module
	}
	return parsed, errors.Join(failures...)
}

// compile makes a set of rules from their sources by file name: the file apps/sidecarset.rego has the package
// fairlead.apps.sidecarset.
func compile(ctx context.Context, sources map[string]string, builtins []Builtin, store storage.Store) (*ruleset, error) {
	may := capabilities(builtins)
	parsed, err := parse(sources, may)
	if err != nil {
		return nil, fmt.Errorf("parsing rules: %w", err)
	}
	compiled := ast.NewCompiler().WithCapabilities(may).WithStrict(true)
	if compiled.Compile(parsed); compiled.Failed() {
		return nil, fmt.Errorf("compiling rules: %w", compiled.Errors)
	}
	set := &ruleset{revision: revisionOf(sources), byID: make(map[string]Rule), queries: make(map[string]rego.PreparedEvalQuery)}
	if set.rules, err = describe(parsed); err != nil {
		return nil, err
	}
	for _, rule := range set.rules {
		set.byID[rule.ID] = rule
	}
	for name, module := range parsed {
		if strings.HasPrefix(name, sharedFolder) {
			continue
		}
		kind := strings.TrimSuffix(name, path.Ext(name))
		options := []func(*rego.Rego){
			rego.Query(question(module)), rego.Compiler(compiled), rego.Store(store),
		}
		for _, b := range builtins {
			options = append(options, b.option())
		}
		if set.queries[kind], err = rego.New(options...).PrepareForEval(ctx); err != nil {
			return nil, fmt.Errorf("preparing the rules of %s: %w", kind, err)
		}
	}
	return set, nil
}

// question asks for denials and warnings alone: what else a package has would be evaluated and converted for nothing.
func question(module *ast.Module) string {
	var members []string
	for _, name := range []string{"deny", "warn"} {
		if slices.ContainsFunc(module.Rules, func(r *ast.Rule) bool { return r.Head.Ref().String() == name }) {
			members = append(members, fmt.Sprintf("%q: %s.%s", name, module.Package.Path, name))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}
