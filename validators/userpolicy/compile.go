package userpolicy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/dependencies"
)

// Compile makes a set of a source, or says what is wrong with it: OPA's errors keep file:line. It ends with ctx: what OPA takes can
// grow by the square of a file's length, and a megabyte take many minutes, while those who wait could take nothing else in. OPA's
// compiler itself goes on to its end, as nothing stops it.
func Compile(ctx context.Context, source *Source) (*Set, error) {
	type result struct {
		set *Set
		err error
	}
	compiled := make(chan result, 1)
	go func() {
		set, err := compile(ctx, source)
		compiled <- result{set, err}
	}()
	select {
	case r := <-compiled:
		return r.set, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("compiling the set %s: %w: it takes too long: make it several sets", source.Name, ctx.Err())
	}
}

func compile(ctx context.Context, source *Source) (set *Set, err error) {
	defer caught("compiling the set "+source.Name, &err)
	modules, err := ParseModules(source.Modules)
	if err != nil {
		return nil, fmt.Errorf("compiling the set %s: %w", source.Name, err)
	}
	rules, err := entrances(modules)
	if err != nil {
		return nil, fmt.Errorf("compiling the set %s: %w", source.Name, err)
	}
	compiler := ast.NewCompiler().WithCapabilities(Capabilities())
	if compiler.Compile(modules); compiler.Failed() {
		return nil, fmt.Errorf("compiling the set %s: %w", source.Name, readable(compiler.Errors))
	}
	set = &Set{source: source, rules: rules, compiler: compiler}
	if set.store, err = newStore(source); err != nil {
		return nil, fmt.Errorf("compiling the set %s: %w", source.Name, err)
	}
	if err := set.look(); err != nil {
		return nil, fmt.Errorf("compiling the set %s: %w", source.Name, err)
	}
	set.queries.set = set
	return set, set.queries.warm(ctx)
}

// caught makes an error of a panic in what users' texts are read with. It must be deferred: it must not end a process that does
// far more than judge by this set.
func caught(doing string, err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("%s: panic: %v", doing, cause)
	}
}

// ParseModules parses files of Rego v1 with their annotations.
func ParseModules(files map[string]string) (map[string]*ast.Module, error) {
	modules := make(map[string]*ast.Module, len(files))
	may := Capabilities()
	var failures []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := CheckText(name, files[name]); err != nil {
			failures = append(failures, err)
			continue
		}
		module, err := ast.ParseModuleWithOpts(name, files[name], ast.ParserOptions{
			ProcessAnnotation: true, RegoVersion: ast.RegoV1, Capabilities: may,
		})
		var mistakes ast.Errors
		switch {
		case errors.As(err, &mistakes):
			failures = append(failures, readable(mistakes))
		case err != nil:
			failures = append(failures, err)
		case module == nil || module.Package == nil:
			failures = append(failures, fmt.Errorf("%s: it is empty", name))
		default:
			modules[name] = module
		}
	}
	return modules, errors.Join(failures...)
}

var inventoryRef = ast.MustParseRef("data.inventory")

// look finds out which rules depend on data.inventory.
func (s *Set) look() error {
	byName := make(map[string]*ast.Rule)
	for _, module := range s.compiler.Modules {
		for _, rule := range module.Rules {
			byName[rule.Head.Name.String()] = rule
		}
	}
	var errs []error
	for i := range s.rules {
		rule := &s.rules[i]
		compiled := byName[rule.name]
		if compiled == nil {
			return fmt.Errorf("%s: the rule is lost", rule.Location)
		}
		read, err := dependencies.Base(s.compiler, compiled)
		if err != nil {
			return fmt.Errorf("%s: finding what the rule reads: %w", rule.Location, err)
		}
		rule.Inventory = slices.ContainsFunc(read, func(ref ast.Ref) bool {
			return ref.HasPrefix(inventoryRef) || inventoryRef.HasPrefix(ref.GroundPrefix())
		})
		if rule.Inventory && len(s.source.Settings.Inventory) == 0 {
			errs = append(errs, at(compiled.Location, errors.New("data.inventory has nothing for this set: list the resources in inventory of "+SettingsFile)))
		}
	}
	return errors.Join(errs...)
}
