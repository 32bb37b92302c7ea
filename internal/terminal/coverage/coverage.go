// Package coverage tells whether the API server would call a webhook for a request, by the rules of its configuration.
package coverage

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is what decides.
type Request struct {
	Operation   admissionv1.OperationType
	Resource    schema.GroupVersionResource
	Subresource string
	Namespaced  bool
	// Namespace has the labels of the object's namespace, or of the object itself if it is one. No namespaceSelector
	// leaves other objects out that are in no namespace; it is nil for those.
	Namespace labels.Set
	// Objects are the labels of the object and of the old one, as far as there are any.
	Objects []labels.Set
}

// Webhook is called or not.
type Webhook struct {
	Called bool
	// Why says what keeps the webhook from being called, "" if it is.
	Why string
	// Unsure names match conditions, which are not evaluated here: the webhook may yet be left out by them.
	Unsure []string
}

// Of tells of a webhook, of either kind of configuration.
func Of(w *admissionv1.MutatingWebhook, r Request) Webhook {
	switch {
	case !slices.ContainsFunc(w.Rules, func(rule admissionv1.RuleWithOperations) bool { return covers(rule, r, w.MatchPolicy) }):
		return Webhook{Why: fmt.Sprintf("its rules have no %s of %s", r.Operation, r.Resource.GroupResource())}
	case r.Namespace != nil && !matches(w.NamespaceSelector, r.Namespace):
		return Webhook{Why: "its namespaceSelector leaves the namespace out: " + metav1.FormatLabelSelector(w.NamespaceSelector)}
	case !slices.ContainsFunc(r.objects(), func(set labels.Set) bool { return matches(w.ObjectSelector, set) }):
		return Webhook{Why: "its objectSelector leaves the object out: " + metav1.FormatLabelSelector(w.ObjectSelector)}
	}
	found := Webhook{Called: true}
	for _, condition := range w.MatchConditions {
		found.Unsure = append(found.Unsure, condition.Expression)
	}
	return found
}

func (r Request) objects() []labels.Set {
	if len(r.Objects) == 0 {
		return []labels.Set{nil}
	}
	return r.Objects
}

func covers(rule admissionv1.RuleWithOperations, r Request, policy *admissionv1.MatchPolicyType) bool {
	// The API server converts to a version that the rule has, which our handlers would have read too.
	anyVersion := policy == nil || *policy == admissionv1.Equivalent
	return has(rule.Operations, string(r.Operation)) && has(rule.APIGroups, r.Resource.Group) &&
		(anyVersion || has(rule.APIVersions, r.Resource.Version)) && coversResource(rule.Resources, r) && coversScope(rule.Scope, r)
}

func has[S ~string](list []S, value string) bool {
	return slices.ContainsFunc(list, func(s S) bool { return string(s) == "*" || string(s) == value })
}

func coversResource(list []string, r Request) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		resource, subresource, _ := strings.Cut(entry, "/")
		return (resource == "*" || resource == r.Resource.Resource) &&
			(subresource == r.Subresource || subresource == "*" && (r.Subresource != "" || entry == "*/*"))
	})
}

func coversScope(scope *admissionv1.ScopeType, r Request) bool {
	switch {
	case scope == nil || *scope == admissionv1.AllScopes:
		return true
	case *scope == admissionv1.NamespacedScope:
		return r.Namespaced
	default:
		return !r.Namespaced
	}
}

// matches takes a selector that cannot be read for one that matches: the API server would not have stored it.
func matches(selector *metav1.LabelSelector, set labels.Set) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return selector == nil || err != nil || parsed.Matches(set)
}
