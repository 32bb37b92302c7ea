package deletion

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// object is what is looked at of an object that is to be deleted. Its names are its own: those of a request to delete a
// collection are empty.
type object struct {
	namespace, name, uid string
	mode                 string
	deleting             bool
	spec                 *jsontree.Node
}

func parse(raw jsontext.Value) (*object, error) {
	top, err := jsontree.Parse(raw)
	if err != nil {
		return nil, err
	}
	if !top.IsObject() {
		return nil, fmt.Errorf("expected an object, found %s", top.Kind())
	}
	metadata := top.Object("metadata")
	if metadata == nil {
		return nil, errors.New("metadata: expected an object")
	}
	o := &object{
		namespace: metadata.TextOf("namespace"), name: metadata.TextOf("name"), uid: metadata.TextOf("uid"),
		deleting: metadata.Get("deletionTimestamp") != nil, spec: top.Object("spec"),
	}
	if labels := metadata.Object("labels"); labels != nil {
		o.mode = labels.TextOf(policyv1beta1.DeletionProtectionLabel)
	}
	return o, nil
}

func (o *object) fullName() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// customResource is the resource that a CustomResourceDefinition defines, in its storage version, or if that is not
// served, in one that is. Definitions of apiextensions.k8s.io/v1beta1 may name a single version apart.
func customResource(spec *jsontree.Node) (schema.GroupVersionResource, error) {
	none := schema.GroupVersionResource{}
	if spec == nil || spec.Object("names") == nil {
		return none, errors.New("spec: expected the names of a resource")
	}
	r := schema.GroupVersionResource{Group: spec.TextOf("group"), Version: spec.TextOf("version"), Resource: spec.Object("names").TextOf("plural")}
	if versions := spec.Get("versions"); versions.IsArray() {
		for _, version := range versions.Elements() {
			if !version.IsObject() || !isTrue(version, "served") {
				continue
			}
			if r.Version = version.TextOf("name"); isTrue(version, "storage") {
				break
			}
		}
	}
	if r.Group == "" || r.Version == "" || r.Resource == "" {
		return none, errors.New("spec: expected a group, a plural name and a version that is served")
	}
	return r, nil
}

func isTrue(n *jsontree.Node, name string) bool {
	value := n.Get(name)
	return value != nil && value.Kind() == jsontext.KindTrue
}
