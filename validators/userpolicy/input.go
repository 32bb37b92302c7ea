package userpolicy

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// inputOf is the AdmissionReview as rules of OPA know it: input.request and what is in it.
func inputOf(req *admission.Request) (ast.Value, error) {
	request := ast.NewObject(
		item("uid", ast.StringTerm(req.UID)),
		item("kind", texts("group", req.Kind.Group, "version", req.Kind.Version, "kind", req.Kind.Kind)),
		item("resource", texts("group", req.Resource.Group, "version", req.Resource.Version, "resource", req.Resource.Resource)),
		item("operation", ast.StringTerm(string(req.Operation))),
		item("dryRun", ast.InternedTerm(req.DryRun)),
	)
	user, err := userInfo(req.UserInfo)
	if err != nil {
		return nil, err
	}
	request.Insert(ast.StringTerm("userInfo"), user)
	for _, text := range [][2]string{{"subResource", req.SubResource}, {"namespace", req.Namespace}, {"name", req.Name}} {
		if text[1] != "" { // as the API server leaves them out
			request.Insert(ast.StringTerm(text[0]), ast.StringTerm(text[1]))
		}
	}
	for name, raw := range map[string][]byte{"object": req.Object, "oldObject": req.OldObject, "options": req.Options} {
		if raw == nil {
			request.Insert(ast.StringTerm(name), ast.NullTerm())
			continue
		}
		value, err := validators.Document(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		request.Insert(ast.StringTerm(name), ast.NewTerm(value))
	}
	return ast.NewObject(
		item("apiVersion", ast.StringTerm("admission.k8s.io/v1")), item("kind", ast.StringTerm("AdmissionReview")),
		item("request", ast.NewTerm(request)),
	), nil
}

func item(name string, value *ast.Term) [2]*ast.Term { return ast.Item(ast.InternedTerm(name), value) }

// texts is an object of names and texts in turn.
func texts(pairs ...string) *ast.Term {
	object := ast.NewObject()
	for i := 0; i < len(pairs); i += 2 {
		object.Insert(ast.InternedTerm(pairs[i]), ast.StringTerm(pairs[i+1]))
	}
	return ast.NewTerm(object)
}

func userInfo(user admission.UserInfo) (*ast.Term, error) {
	groups := make([]*ast.Term, len(user.Groups))
	for i, group := range user.Groups {
		groups[i] = ast.StringTerm(group)
	}
	info := ast.NewObject(item("username", ast.StringTerm(user.Username)), item("groups", ast.ArrayTerm(groups...)))
	if user.UID != "" {
		info.Insert(ast.StringTerm("uid"), ast.StringTerm(user.UID))
	}
	if user.Extra != nil {
		extra, err := validators.Document(user.Extra)
		if err != nil {
			return nil, fmt.Errorf("userInfo.extra: %w", err)
		}
		info.Insert(ast.StringTerm("extra"), ast.NewTerm(extra))
	}
	return ast.NewTerm(info), nil
}
