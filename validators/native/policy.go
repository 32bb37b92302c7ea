package native

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/features"
)

// prefix is what the names of all objects begin with.
const prefix = "kruise-native-"

// Gates tells which features are on.
type Gates interface {
	Enabled(featuregate.Feature) bool
}

// Policy is a policy with the binding that puts it into force everywhere; both have one name.
type Policy struct {
	Policy  admissionv1.ValidatingAdmissionPolicy
	Binding admissionv1.ValidatingAdmissionPolicyBinding
}

// Policies are all policies for an installation with these feature gates, those of deletion protection first.
func Policies(gates Gates) []Policy { return append(Deletion(gates), Immutable()...) }

// Parts are the policies by what switches them on: "deletion" the feature gate of deletion protection, "deletion-crds" that
// gate as long as nobody counts the objects of definitions, "immutable" nothing. The chart has a file of each name.
func Parts() map[string][]Policy {
	all := Deletion(everything{})
	return map[string][]Policy{
		"deletion":      slices.DeleteFunc(slices.Clone(all), ofDefinitions),
		"deletion-crds": slices.DeleteFunc(all, func(p Policy) bool { return !ofDefinitions(p) }),
		"immutable":     Immutable(),
	}
}

func ofDefinitions(p Policy) bool { return strings.HasSuffix(p.Policy.Name, "-"+uncounted.name) }

// everything are the gates with which there are most policies.
type everything struct{}

// Enabled implements Gates.
func (everything) Enabled(gate featuregate.Feature) bool {
	return gate != features.DeletionProtectionForCRDCascadingGate
}

// policyOf makes a policy in force. Failure of an expression refuses: all of them are written so that they cannot fail on
// what the API server stores.
func policyOf(name string, spec admissionv1.ValidatingAdmissionPolicySpec) Policy {
	spec.FailurePolicy = ptr.To(admissionv1.Fail)
	version, meta := admissionv1.SchemeGroupVersion.String(), metav1.ObjectMeta{Name: prefix + name}
	return Policy{
		Policy: admissionv1.ValidatingAdmissionPolicy{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicy"}, ObjectMeta: meta, Spec: spec,
		},
		Binding: admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicyBinding"}, ObjectMeta: meta,
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		},
	}
}

// Write writes policies as YAML documents that kubectl applies.
func Write(out io.Writer, policies []Policy) error {
	for i := range policies {
		for _, object := range []any{policies[i].Policy, policies[i].Binding} {
			text, err := document(object)
			if err == nil {
				_, err = fmt.Fprintf(out, "---\n%s", text)
			}
			if err != nil {
				return fmt.Errorf("writing policy %s: %w", policies[i].Policy.Name, err)
			}
		}
	}
	return nil
}

// document is an object as YAML without its status, which is the API server's.
func document(object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	delete(members, "status")
	return yaml.Marshal(members)
}
