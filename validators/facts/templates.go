package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/dryrun"
)

// Templates says what is wrong with templates and whole objects; an error means that nobody can tell now. dryrun.Asker is one.
type Templates interface {
	TemplateProblems(ctx context.Context, template dryrun.Template) ([]dryrun.Problem, error)
	ClaimProblems(ctx context.Context, claim dryrun.Claim) ([]dryrun.Problem, error)
	ObjectProblems(ctx context.Context, object dryrun.Object) ([]dryrun.Problem, error)
}

// judgingTemplates are the builtins that ask the API server about templates. Each answers {"errors": [], "warnings": []}.
func (s Sources) judgingTemplates() []validators.Builtin {
	return []validators.Builtin{
		{Name: "fairlead.template_problems", Arity: 4, Call: s.template},
		{Name: "fairlead.pod_spec_problems", Arity: 2, Call: s.podSpec},
		{Name: "fairlead.claim_problems", Arity: 2, Call: s.claim},
		{Name: "fairlead.object_problems", Arity: 3, Call: s.object},
	}
}

// nothing is the answer where nobody can be asked.
var nothing = ast.MustParseTerm(`{"errors": [], "warnings": []}`)

// template takes the field of a Pod template and the template, and the field of the claim templates and these.
func (s Sources) template(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	if s.Templates == nil {
		return nothing, nil
	}
	raw, err := encode(args[1])
	if err != nil {
		return nil, err
	}
	claims, err := decode[[]struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}](args[3])
	if err != nil {
		return nil, fmt.Errorf("reading claim templates: %w", err)
	}
	question := dryrun.Template{Object: raw}
	for _, claim := range claims {
		question.Claims = append(question.Claims, claim.Metadata.Name)
	}
	at, claimsAt := text(args[0]), text(args[2])
	return s.judged(ctx, at, func() ([]dryrun.Problem, error) {
		problems, err := s.Templates.TemplateProblems(ctx, question)
		located := make([]dryrun.Problem, len(problems)) // what is remembered must not change
		for i, p := range problems {
			located[i] = p
			if claim, found := p.OfClaim(); found {
				located[i].Field = fmt.Sprintf("%s[%d].metadata.name", claimsAt, claim)
			} else {
				located[i].Field = at + "." + p.Field
			}
		}
		return located, err
	})
}

// podSpec takes a Pod spec that is made for the question, and the fields that its parts come from, by the paths of the parts.
// What is wrong elsewhere in it is no mistake of the user.
func (s Sources) podSpec(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	if s.Templates == nil {
		return nothing, nil
	}
	spec, err := encode(args[0])
	if err != nil {
		return nil, err
	}
	fields, err := decode[map[string]string](args[1])
	if err != nil {
		return nil, err
	}
	question := dryrun.Template{Object: slices.Concat(jsontext.Value(`{"spec":`), spec, jsontext.Value("}"))}
	return s.judged(ctx, "spec", func() (ours []dryrun.Problem, err error) {
		problems, err := s.Templates.TemplateProblems(ctx, question)
		for _, p := range problems {
			if field, found := origin(strings.TrimPrefix(p.Field, "spec."), fields); found {
				p.Field = field
				ours = append(ours, p)
			}
		}
		return ours, err
	})
}

// origin is the field that a path comes from, by the longest part of it that is known.
func origin(path string, fields map[string]string) (field string, found bool) {
	longest := -1
	for part, from := range fields {
		rest, below := strings.CutPrefix(path, part)
		if below && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(part) > longest {
			field, longest = from+rest, len(part)
		}
	}
	return field, longest >= 0
}

// claim takes the field of a claim template and the template.
func (s Sources) claim(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	if s.Templates == nil {
		return nothing, nil
	}
	raw, err := encode(args[1])
	if err != nil {
		return nil, err
	}
	at := text(args[0])
	return s.judged(ctx, at, func() ([]dryrun.Problem, error) {
		problems, err := s.Templates.ClaimProblems(ctx, dryrun.Claim{Object: raw})
		return below(at, problems), err
	})
}

// object takes the field of an object, its resource, and the object.
func (s Sources) object(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	if s.Templates == nil {
		return nothing, nil
	}
	raw, err := encode(args[2])
	if err != nil {
		return nil, err
	}
	at := text(args[0])
	return s.judged(ctx, at, func() ([]dryrun.Problem, error) {
		problems, err := s.Templates.ObjectProblems(ctx, dryrun.Object{Resource: text(args[1]), Raw: raw})
		return below(at, problems), err
	})
}

// below puts the fields of problems below one.
func below(at string, problems []dryrun.Problem) []dryrun.Problem {
	located := make([]dryrun.Problem, len(problems))
	for i, p := range problems {
		p.Field = strings.TrimSuffix(at+"."+p.Field, ".")
		located[i] = p
	}
	return located
}

// judged is the answer of a builtin. Without a verdict what is at a field passes with a warning.
func (s Sources) judged(ctx context.Context, at string, ask func() ([]dryrun.Problem, error)) (*ast.Term, error) {
	errs, warnings := []map[string]any{}, []string{}
	problems, err := ask()
	if err != nil {
		if ctx.Err() != nil { // it is the request that has no time left
			return nil, ctx.Err()
		}
		warnings = append(warnings, warning(at+" was not validated by the API server: "+err.Error()))
	}
	if len(problems) == 0 && err == nil {
		return nothing, nil
	}
	for _, p := range problems {
		errs = append(errs, problem(p.Field, p.Type, p.Body))
	}
	return term(map[string]any{"errors": errs, "warnings": warnings})
}

// warning cuts a text.
func warning(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), warningLength)], "")
}

// decodeRaw reads JSON as a Go type.
func decodeRaw[T any](raw []byte) (value T, err error) {
	return value, json.Unmarshal(raw, &value)
}
