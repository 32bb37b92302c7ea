package sidecarset

import (
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/mutators/resourceexpr"
)

// resourcesPolicy computes a sidecar's resources from those of the Pod's own containers (sidecarset.md §4.9).
type resourcesPolicy struct {
	sum     bool // else the largest
	targets *regexp.Regexp
	limits  []expression
	// requests come after limits in every message and result.
	requests []expression
	// broken is what is wrong with the policy itself. It refuses the Pods rather than the SidecarSet: without it they
	// would start with whatever version of the SidecarSet was good before, or with no sidecar at all.
	broken error
}

// expression is what one resource of the sidecar is computed by.
type expression struct {
	resource resourceexpr.Resource
	// path is the field below resourcesPolicy, and text what it says.
	path, text string
	parsed     *resourceexpr.Expr
}

// expressions are a list of resources, limits or requests, as written.
type expressions struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

type resourcesDocument struct {
	TargetContainersMode      string `json:"targetContainersMode"`
	TargetContainersNameRegex string `json:"targetContainersNameRegex"`
	ResourcesExpr             struct {
		Limits   expressions `json:"limits"`
		Requests expressions `json:"requests"`
	} `json:"resourcesExpr"`
}

// policyError is what is wrong with a policy, beginning with the path below resourcesPolicy and ending with the cure.
type policyError struct{ error }

func wrong(format string, args ...any) error { return &policyError{fmt.Errorf(format, args...)} }

// wrong is a policyError about the expression.
func (e *expression) wrong(format string, args ...any) error {
	return wrong(".%s %q "+format, append([]any{e.path, e.text}, args...)...)
}

// compileResources parses a policy, nil if there is none.
func compileResources(raw jsontext.Value) *resourcesPolicy {
	if len(raw) == 0 || raw.Kind() == jsontext.KindNull {
		return nil
	}
	p := &resourcesPolicy{}
	p.broken = p.compile(raw)
	return p
}

func (p *resourcesPolicy) compile(raw jsontext.Value) (err error) {
	var doc resourcesDocument
	if err = json.Unmarshal(raw, &doc, readOptions); err != nil {
		return wrong(" cannot be read: %w; correct it", err)
	}
	switch doc.TargetContainersMode {
	case "sum":
		p.sum = true
	case "max":
	default:
		return wrong(".targetContainersMode is %q; set it to sum or max", doc.TargetContainersMode)
	}
	// A missing one, which the API server would have made ".*", matches every name as well.
	if p.targets, err = regexp.Compile(doc.TargetContainersNameRegex); err != nil {
		return wrong(".targetContainersNameRegex: %w; correct it, or remove it to count every container", err)
	}
	if p.limits, err = compileExpressions("resourcesExpr.limits", doc.ResourcesExpr.Limits); err != nil {
		return err
	}
	p.requests, err = compileExpressions("resourcesExpr.requests", doc.ResourcesExpr.Requests)
	return err
}

// compileExpressions parses the expressions that are there: a resource without one is not set.
func compileExpressions(path string, texts expressions) (list []expression, err error) {
	for _, e := range [...]expression{
		{resource: resourceexpr.CPU, path: path + ".cpu", text: texts.CPU},
		{resource: resourceexpr.Memory, path: path + ".memory", text: texts.Memory},
	} {
		if e.text == "" {
			continue
		}
		if e.parsed, err = resourceexpr.Parse(e.text); err != nil {
			return nil, e.wrong("%w; correct the expression", err)
		}
		list = append(list, e)
	}
	return list, nil
}
