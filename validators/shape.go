package validators

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/api"
	"github.com/fairlead-io/fairlead/api/decoding"
)

// kinds are the Go types of what is judged.
var kinds = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		panic(err) // two types of one kind: a mistake of the build
	}
	return scheme
}()

// lenient: what the API server has let through is no matter of shape.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// checkShape refuses what the type of a kind cannot hold, such as a text where an object belongs. Schemas let some of it
// pass, where they keep what they do not know; rules and builtins, which ask for values and not for their types, would
// overlook it or have no answer.
func checkShape(kind schema.GroupKind, input ast.Object, raw jsontext.Value) error {
	version, err := input.Find(apiVersionRef)
	if err != nil {
		return nil //nolint:nilerr // without a version there is nothing to compare with
	}
	text, _ := version.(ast.String)
	parsed, err := schema.ParseGroupVersion(string(text))
	if err != nil || parsed.Group != kind.Group {
		return nil //nolint:nilerr // as above
	}
	object, err := kinds.New(parsed.WithKind(kind.Kind))
	if err != nil {
		return nil //nolint:nilerr // a kind or version that has no type here
	}
	return decoding.Into(object, "", raw, lenient)
}
