package native

import (
	"fmt"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/protection/deletion"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// cascade is when the label's value Cascading protects an object, as far as the object itself tells.
type cascade struct {
	// name is the end of the policy's name.
	name string
	// free is CEL that is true when nothing would go with the object; why is CEL for the reason otherwise.
	free, why string
}

var (
	// replicas: unset is not a wish (protection.md §1).
	replicas = &cascade{"cascading", "oldObject.?spec.?replicas.orValue(0) <= 0", `"replicas " + string(oldObject.spec.replicas) + ">0"`}
	// uncounted is for definitions while nobody may list what they define.
	uncounted = &cascade{"crds-cascading", "false",
		quoted("the feature gate " + string(features.DeletionProtectionForCRDCascadingGate) + " is not enabled, so its active CRs are not counted")}
)

// cascades are those of resources. Namespaces have none here: only lists tell what is in them. Nothing goes with Services and
// Ingresses.
var cascades = map[string]*cascade{
	"deployments": replicas, "replicasets": replicas, "statefulsets": replicas, "clonesets": replicas, "uniteddeployments": replicas,
	"customresourcedefinitions": uncounted,
}

// Deletion are the policies of deletion protection, for the same kinds and namespaces as the service's webhooks. There are
// none while its feature gate is off; with that for the cascading deletion of definitions on, counting them is the
// service's.
func Deletion(gates Gates) (policies []Policy) {
	if !gates.Enabled(features.ResourcesDeletionProtection) {
		return nil
	}
	for _, group := range grouped() {
		policies = append(policies, protecting(group, deletion.Always, &cascade{name: "always", free: "false", why: quoted("it must not be deleted")}))
		for _, c := range []*cascade{replicas, uncounted} {
			if c == uncounted && gates.Enabled(features.DeletionProtectionForCRDCascadingGate) {
				continue
			}
			some := group
			some.rules = slices.DeleteFunc(slices.Clone(group.rules), func(r admissionv1.RuleWithOperations) bool { return cascades[r.Resources[0]] != c })
			if len(some.rules) > 0 {
				policies = append(policies, protecting(some, deletion.Cascading, c))
			}
		}
	}
	return policies
}

// protected are resources of the same namespaces.
type protected struct {
	name     string
	selector *metav1.LabelSelector
	rules    []admissionv1.RuleWithOperations
}

// grouped are what the webhooks of deletion protection protect: Kubernetes' own kinds, of which kube-system's are left alone,
// and those of apps.kruise.io.
func grouped() []protected {
	groups := []protected{{name: "deletion-"}, {name: "kruise-deletion-"}}
	for _, entry := range webhook.All(webhook.Deps{}) {
		if entry.Gate != features.ResourcesDeletionProtection {
			continue
		}
		group := &groups[0]
		if entry.NamespaceSelector == nil {
			group = &groups[1]
		}
		if len(group.rules) > 0 && !reflect.DeepEqual(group.selector, entry.NamespaceSelector) {
			panic("webhooks of deletion protection see two choices of namespaces") // a mistake of the build, which every test meets
		}
		group.selector = entry.NamespaceSelector
		group.rules = append(group.rules, entry.Rules...)
	}
	return groups
}

// protecting denies the deletion of objects with a value of the label.
func protecting(p protected, mode string, c *cascade) Policy {
	label := policyv1beta1.DeletionProtectionLabel
	expression := metadata("oldObject", "deletionTimestamp") + ".hasValue()"
	if c.free != "false" {
		expression += " || " + c.free
	}
	message := `"ResourcesProtectionDeletion: " + request.kind.kind + " " + ` +
		metadata("oldObject", "namespace") + `.optMap(n, n + "/").orValue("") + oldObject.metadata.name + ` +
		quoted(fmt.Sprintf(" is protected by the label %s=%s: ", label, mode)) + " + " + c.why + ` + "; remove the label to delete it"`
	return policyOf(p.name+c.name, admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{
			ResourceRules:     named(p.rules),
			NamespaceSelector: p.selector,
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{label: mode}},
			MatchPolicy:       ptr.To(admissionv1.Equivalent),
		},
		Validations: []admissionv1.Validation{{
			Expression: expression, MessageExpression: message, Reason: ptr.To(metav1.StatusReasonForbidden),
		}},
	})
}

// named are rules as policies have them.
func named(rules []admissionv1.RuleWithOperations) []admissionv1.NamedRuleWithOperations {
	all := make([]admissionv1.NamedRuleWithOperations, 0, len(rules))
	for _, rule := range rules {
		rule.Scope = ptr.To(admissionv1.AllScopes)
		all = append(all, admissionv1.NamedRuleWithOperations{RuleWithOperations: rule})
	}
	return all
}

// judging is the service's entry that judges a resource by its rules.
func judging(resource string) table.Entry {
	for _, entry := range webhook.All(webhook.Deps{}) {
		rule := entry.Rules[0]
		if !entry.Mutating && rule.Resources[0] == resource && slices.Contains(rule.Operations, admissionv1.Update) &&
			slices.Contains([]string{"apps.kruise.io", "policy.kruise.io"}, rule.APIGroups[0]) {
			return entry
		}
	}
	panic("no webhook judges " + resource) // a mistake of the build, which every test meets
}
