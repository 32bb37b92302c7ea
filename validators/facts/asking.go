package facts

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/dryrun"
	"github.com/fairlead-io/fairlead/validators/overlap"
)

// asking are the builtins that look something up.
func (s Sources) asking() []validators.Builtin {
	return []validators.Builtin{
		{Name: "fairlead.sidecarset_conflicts", Arity: 2, Call: s.conflicts},
		{Name: "fairlead.sidecarset", Arity: 1, Asks: true, Call: s.sidecarSet},
		{Name: "fairlead.sidecarset_revision_exists", Arity: 3, Asks: true, Call: s.revision},
		{Name: "fairlead.configuration", Arity: 1, Asks: true, Call: s.configuration},
		{Name: "fairlead.pod_problems", Arity: 1, Call: s.pod},
	}
}

// conflicts takes a SidecarSet and what it was before; {} if it is being created. That what it was cannot be read, having
// been stored when nobody judged it, must not keep anyone from putting it right.
func (s Sources) conflicts(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	raw, err := encode(args[0])
	if err != nil {
		return nil, err
	}
	before, err := encode(args[1])
	if err != nil {
		return nil, err
	}
	if !overlap.Readable(before) {
		before = []byte("{}")
	}
	conflicts, err := s.SidecarSets.Conflicts(raw, before)
	if err != nil {
		return nil, err
	}
	found := []map[string]any{}
	for _, c := range conflicts {
		found = append(found, map[string]any{"kind": string(c.Kind), "field": c.Field, "name": c.Name, "other": c.Other})
	}
	return term(found)
}

// sidecarSet reads what the watch has not told of yet: a canary may be created right after its base.
func (s Sources) sidecarSet(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	name := text(args[0])
	canary, found := s.SidecarSets.Canary(name)
	if !found && s.Reader != nil {
		var err error
		if canary, found, err = s.Reader.SidecarSet(ctx, name); err != nil {
			return nil, err
		}
	}
	return term(map[string]any{"exists": found, "canary": canary})
}

func (s Sources) revision(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	if s.Reader == nil {
		return ast.BooleanTerm(true), nil
	}
	found, err := s.Reader.Revision(ctx, text(args[0]), text(args[1]), text(args[2]))
	if err != nil {
		return nil, err
	}
	return ast.BooleanTerm(found), nil
}

func (s Sources) configuration(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	if s.Reader == nil {
		return ast.StringTerm(""), nil
	}
	value, err := s.Reader.Configuration(ctx, text(args[0]))
	if err != nil {
		return nil, err
	}
	return ast.StringTerm(value), nil
}

// warningLength is what the API server is sure to pass on of a warning.
const warningLength = 120

func (s Sources) pod(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	errs, warnings := []map[string]any{}, []string{}
	if s.Pods != nil {
		raw, err := encode(args[0])
		if err != nil {
			return nil, err
		}
		var pod dryrun.Pod
		if err = json.Unmarshal(raw, &pod); err != nil {
			return nil, fmt.Errorf("reading a Pod: %w", err)
		}
		problems, err := s.Pods.Problems(ctx, pod)
		if err != nil {
			if ctx.Err() != nil { // it is the request that has no time left
				return nil, ctx.Err()
			}
			warnings = append(warnings, warning("containers and volumes were not validated by the API server: "+err.Error()))
		}
		for _, p := range problems {
			errs = append(errs, problem(p.Field, p.Type, p.Body))
		}
	}
	return term(map[string]any{"errors": errs, "warnings": warnings})
}
