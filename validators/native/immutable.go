package native

import (
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// kind is one whose updates are judged.
type kind struct {
	resource string
	// code is the HTTP status of a refusal, 403 or, if it is 0, 422: policies have no 400, which the service answers of some
	// kinds. All rules of a kind here have the same.
	code int
	// problems are those of every version, and ofVersion those of one.
	problems  []problem
	ofVersion map[string][]problem
}

// Immutable are the policies of fields that an update may not change, one for each kind, or one for each version where they
// differ. As in the service, an object that is being deleted is not judged.
func Immutable() (policies []Policy) {
	for _, k := range kinds {
		versions := judging(k.resource).Rules[0].APIVersions
		if len(k.ofVersion) == 0 {
			policies = append(policies, k.policy("immutable-"+k.resource, k.problems, versions, admissionv1.Equivalent))
			continue
		}
		for _, version := range versions {
			all := append(append([]problem(nil), k.problems...), k.ofVersion[version]...)
			// Equivalent would have each of them judge the requests of both versions.
			policies = append(policies, k.policy("immutable-"+k.resource+"-"+version, all, []string{version}, admissionv1.Exact))
		}
	}
	return policies
}

func (k kind) policy(name string, problems []problem, versions []string, match admissionv1.MatchPolicyType) Policy {
	entry := judging(k.resource)
	rule := entry.Rules[0]
	rule.APIVersions, rule.Operations = versions, []admissionv1.OperationType{admissionv1.Update}
	reason, verb := metav1.StatusReasonInvalid, "invalid"
	if k.code == http.StatusForbidden {
		reason, verb = metav1.StatusReasonForbidden, "forbidden"
	}
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		texts = append(texts, p.texts)
	}
	return policyOf(name, admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{
			ResourceRules: named([]admissionv1.RuleWithOperations{rule}), MatchPolicy: ptr.To(match),
			NamespaceSelector: entry.NamespaceSelector, ObjectSelector: entry.ObjectSelector,
		},
		MatchConditions: entry.MatchConditions,
		Variables:       []admissionv1.Variable{{Name: "problems", Expression: strings.Join(texts, " +\n")}},
		Validations: []admissionv1.Validation{{
			Expression: "size(variables.problems) == 0",
			MessageExpression: `request.kind.kind + "." + request.kind.group + " " + strings.quote(request.name) + " is ` + verb + `: " + ` +
				`(size(variables.problems) == 1 ? variables.problems[0] : "[" + variables.problems.join(", ") + "]")`,
			Reason: ptr.To(reason),
		}},
	})
}
