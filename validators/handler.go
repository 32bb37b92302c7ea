package validators

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// groupSuffix is what the names of our API groups end with, and folders of rules leave out.
const groupSuffix = ".kruise.io"

// Handler answers the creation and the update of objects of one kind by its rules; everything else passes, and so does an
// object that is being deleted, or whose spec, labels and annotations an update leaves alone: what is stored already is
// not judged again, or a rule that came later would keep others from removing a finalizer.
func (e *Engine) Handler(kind schema.GroupKind) admission.Handler {
	rules := strings.TrimSuffix(kind.Group, groupSuffix) + "/" + strings.ToLower(kind.Kind)
	return admission.HandlerFunc(func(ctx context.Context, req *admission.Request) admission.Response {
		if req.Operation != admission.Create && req.Operation != admission.Update || req.SubResource != "" {
			return admission.Allow()
		}
		input, err := inputOf(req)
		if err != nil {
			return admission.Failed(admission.Refuse(400, "decoding %s: %v", kind.Kind, err))
		}
		if req.Operation == admission.Update && (deleting(input) || unchanged(input)) {
			return admission.Allow()
		}
		if violation := tooMany(input); violation != nil {
			return admission.Response{Status: status(kind, req.Name, []Violation{*violation})}
		}
		if err := checkShape(kind, input, req.Object); err != nil {
			return admission.Failed(admission.Refuse(400, "decoding %s: %v", kind.Kind, err))
		}
		verdict, err := e.Judge(ctx, rules, input)
		if err != nil {
			return admission.Failed(err)
		}
		if len(verdict.Violations) == 0 {
			return admission.Allow(verdict.Warnings...)
		}
		return admission.Response{Status: status(kind, req.Name, verdict.Violations), Warnings: verdict.Warnings}
	})
}

// inputOf is what rules see as input: operation, name, object and, for an update, oldObject.
func inputOf(req *admission.Request) (ast.Object, error) {
	if req.Object == nil {
		return nil, errors.New("the request has no object")
	}
	input := ast.NewObject(
		ast.Item(ast.StringTerm("operation"), ast.StringTerm(string(req.Operation))),
		ast.Item(ast.StringTerm("name"), ast.StringTerm(req.Name)),
	)
	for name, raw := range map[string][]byte{"object": req.Object, "oldObject": req.OldObject} {
		if raw == nil {
			continue
		}
		value, err := object(raw)
		if err != nil {
			return nil, err
		}
		if _, ok := value.(ast.Object); !ok {
			return nil, fmt.Errorf("%s: an object is needed", name)
		}
		input.Insert(ast.StringTerm(name), ast.NewTerm(value))
	}
	return input, nil
}

var (
	apiVersionRef = ast.MustParseRef("input.object.apiVersion")[1:]
	deletionRef   = ast.MustParseRef("input.object.metadata.deletionTimestamp")[1:]
	// judged are the parts of an object that rules look at.
	judged = []ast.Ref{
		ast.MustParseRef("x.spec")[1:], ast.MustParseRef("x.metadata.labels")[1:], ast.MustParseRef("x.metadata.annotations")[1:],
	}
)

func deleting(input ast.Object) bool {
	_, err := input.Find(deletionRef)
	return err == nil
}

func unchanged(input ast.Object) bool {
	old := input.Get(ast.StringTerm("oldObject"))
	if old == nil {
		return false
	}
	object := input.Get(objectTerm)
	for _, part := range judged {
		before, _ := old.Value.Find(part)
		after, _ := object.Value.Find(part)
		if (before == nil) != (after == nil) || before != nil && before.Compare(after) != 0 {
			return false
		}
	}
	return true
}
