package dryrun

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// Object is a whole object of the core group that is to be created later, in namespaces that it does not name.
type Object struct {
	// Resource is secrets or configmaps.
	Resource string
	// Raw is the object.
	Raw jsontext.Value
}

func (o Object) kind() string { return "object of the " + o.Resource }

func (o Object) resource() string { return o.Resource }

// body is the object in our namespace, without what only a stored object has.
func (o Object) body(namespace string) ([]byte, error) {
	top, err := jsontree.Parse(o.Raw)
	if err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	if top.Object("metadata") == nil {
		top.Set("metadata", jsontext.Value("{}"))
	}
	metadata := top.Object("metadata")
	metadata.Set("namespace", jsontree.Quote(namespace))
	for _, given := range []string{"uid", "resourceVersion", "ownerReferences", "creationTimestamp", "managedFields"} {
		metadata.Remove(given)
	}
	return top.Bytes(), nil
}

// problems: that the name is taken here is no mistake. What cannot be decoded is one, and has no cause with a field.
func (Object) problems(status metav1.Status) ([]Problem, bool) {
	switch found := causes(status); {
	case len(found) > 0:
		return found, true
	case status.Code == http.StatusConflict:
		return []Problem{}, true
	case status.Code == http.StatusBadRequest && !strings.Contains(status.Message, "dry run"):
		return []Problem{{Type: string(metav1.CauseTypeFieldValueInvalid), Body: "Invalid value: " + status.Message}}, true
	default:
		return nil, false
	}
}
