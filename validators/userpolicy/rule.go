package userpolicy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Rule is a deny, warn or dryrun rule of a set.
type Rule struct {
	// ID names it in messages, the log and exemptions: custom.id, or its package and its name as in images.deny, which
	// several rules may share.
	ID                 string
	Title, Description string
	// Action is what the rule says; enforcement of the set may make less of it.
	Action Action
	// Package is as in images, and Match its annotation's custom.match.
	Package string
	Match   []Match
	// Own is what the rule's own annotation narrows Match by, or says in its place; nil for nothing.
	Own []Match
	// Location is file:line.
	Location string
	// Inventory says whether what it says depends on data.inventory.
	Inventory bool

	// name is what the rule is called once compiled, and path how it is asked for.
	name, path string
}

// concerns says whether the rule has something to say of a request.
func (r *Rule) concerns(t target) bool {
	return (r.Match == nil || anyCovers(r.Match, t)) && (r.Own == nil || anyCovers(r.Own, t))
}

// entrances finds the rules that say something of requests, in the order of their files, and gives each a name of its own,
// by which it can be asked alone. The names that the author gave them stay, for other rules that use them.
func entrances(modules map[string]*ast.Module) ([]Rule, error) {
	packages, errs := packagesOf(modules)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var rules []Rule
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		module := modules[file]
		for _, written := range slices.Clone(module.Rules) {
			action := Action(written.Head.Ref().String())
			if action.rank() == 0 {
				continue
			}
			rule, err := describe(written, action, packages[module.Package.Path.String()])
			if err == nil {
				err = rule.unlike(rules)
			}
			if err != nil {
				errs = append(errs, at(written.Location, err))
				continue
			}
			rule.name = fmt.Sprintf("%s#%d", action, len(rules))
			rule.path = fmt.Sprintf("%s[%q]", module.Package.Path, rule.name)
			rules = append(rules, rule)
			again, err := alias(written, action, rule.path)
			if err != nil {
				return nil, err
			}
			module.Rules = append(module.Rules, again)
			written.Head.Name, written.Head.Reference = ast.Var(rule.name), ast.Ref{ast.VarTerm(rule.name)}
		}
	}
	if len(rules) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("there is no rule: write one as `deny contains \"message\" if { ... }`; warn and dryrun are the others"))
	}
	return rules, errors.Join(errs...)
}

// alias is a rule of the name that the author gave to another, which says what that one says: other rules may use it.
func alias(of *ast.Rule, name Action, path string) (*ast.Rule, error) {
	again, err := ast.ParseRuleWithOpts(fmt.Sprintf("%s contains said if some said in %s", name, path), ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		return nil, fmt.Errorf("%s: naming the rule: %w", of.Location, err)
	}
	again.Module = of.Module
	ast.NewGenericVisitor(func(x any) bool {
		if node, ok := x.(ast.Node); ok {
			node.SetLoc(of.Location)
		}
		return false
	}).Walk(again)
	return again, nil
}

// described is what the annotation of a package says.
type described struct {
	name               string
	title, description string
	match              []Match
}

func packagesOf(modules map[string]*ast.Module) (map[string]described, []error) {
	packages := make(map[string]described)
	var errs []error
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		module := modules[file]
		path := module.Package.Path.String()
		found := packages[path]
		found.name = cmp.Or(found.name, nameOf(module.Package.Path))
		for _, a := range module.Annotations {
			if a.Scope != "package" {
				continue
			}
			match, err := readMatch(a.Custom)
			if err != nil {
				errs = append(errs, at(a.Location, err))
			}
			found.title, found.description, found.match = a.Title, a.Description, match
		}
		packages[path] = found
	}
	return packages, errs
}

// nameOf is a package's path without data.
func nameOf(path ast.Ref) string {
	parts := make([]string, 0, len(path))
	for _, term := range path[1:] {
		part, _ := term.Value.(ast.String)
		parts = append(parts, string(part))
	}
	return strings.Join(parts, ".")
}

func describe(written *ast.Rule, action Action, in described) (Rule, error) {
	if written.Head.RuleKind() != ast.MultiValue || len(written.Head.Args) > 0 || written.Default {
		return Rule{}, fmt.Errorf("%s must be a set of messages: write `%s contains message if { ... }`", action, action)
	}
	rule := Rule{
		ID: in.name + "." + string(action), Title: in.title, Description: in.description, Action: action, Package: in.name, Match: in.match,
		Location: fmt.Sprintf("%s:%d", written.Location.File, written.Location.Row),
	}
	for _, a := range written.Annotations {
		if err := rule.annotate(a); err != nil {
			return Rule{}, err
		}
	}
	switch {
	case rule.Match == nil && rule.Own == nil:
		return Rule{}, fmt.Errorf("nothing says which requests %s concerns: add custom.match to the annotation of the package %s", rule.ID, in.name)
	case rule.Match != nil && rule.Own != nil && !meetIn(rule.Match, rule.Own, Match.overlaps):
		return Rule{}, fmt.Errorf("custom.match of %s has nothing that custom.match of the package %s has: the rule would never be asked", rule.ID, in.name)
	}
	return rule, nil
}

// annotate takes in an annotation of the rule or of all rules of its name.
func (r *Rule) annotate(a *ast.Annotations) error {
	if a.Scope != "rule" && a.Scope != "document" {
		return nil
	}
	r.Title, r.Description = cmp.Or(a.Title, r.Title), cmp.Or(a.Description, r.Description)
	if given, there := a.Custom["id"]; there {
		id, ok := given.(string)
		if !ok || id == "" {
			return fmt.Errorf("custom.id is %v: it must be a text", given)
		}
		r.ID = id
	}
	own, err := readMatch(a.Custom)
	if own != nil {
		r.Own = own
	}
	return err
}

// unlike refuses an id that another rule was given. Those that were given none share that of their package.
func (r *Rule) unlike(others []Rule) error {
	if r.ID == r.Package+"."+string(r.Action) {
		return nil
	}
	for _, other := range others {
		if other.ID == r.ID {
			return fmt.Errorf("custom.id %s is that of the rule at %s already", r.ID, other.Location)
		}
	}
	return nil
}

// at is an error at a place, as OPA's own.
func at(location *ast.Location, err error) error {
	return ast.NewError("fairlead_policy_error", location, "%v", err)
}
