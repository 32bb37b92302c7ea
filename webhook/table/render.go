package table

import (
	"maps"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Render makes the mutating or the validating configuration of the entries, which must already be those to be
// written: gates are not looked at. It is nil when no entry belongs into it. All fields of an entry are explicit, as
// the API server's defaults would fill them in.
func (c Config) Render(entries []Entry, mutating bool, target Target) *Configuration {
	var its []Entry
	for _, entry := range entries {
		if entry.Mutating == mutating {
			its = append(its, entry)
		}
	}
	return c.RenderInto(NameOf(mutating), its, target)
}

// RenderInto makes the configuration of a name of all the entries; nil when there is none.
func (c Config) RenderInto(name string, entries []Entry, target Target) *Configuration {
	if len(entries) == 0 {
		return nil
	}
	c = c.withDefaults()
	configuration := c.Empty(name, target.Owner)
	for _, entry := range entries {
		configuration.Webhooks = append(configuration.Webhooks, c.webhook(entry, target.CABundle))
	}
	return configuration
}

// Empty makes a configuration of a name without entries.
func (c Config) Empty(name string, owner *metav1.OwnerReference) *Configuration {
	configuration := &Configuration{Mutating: name == MutatingName, ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: maps.Clone(c.Annotations), Labels: maps.Clone(c.Labels),
	}}
	if owner != nil {
		configuration.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return configuration
}

func (c Config) webhook(entry Entry, caBundle []byte) admissionv1.MutatingWebhook {
	webhook := admissionv1.MutatingWebhook{
		Name:              entry.Name,
		ClientConfig:      c.client(entry.Path, caBundle),
		Rules:             rules(entry),
		FailurePolicy:     ptr.To(c.failurePolicy(entry)),
		MatchPolicy:       ptr.To(or(entry.MatchPolicy, admissionv1.Equivalent)),
		NamespaceSelector: c.namespaceSelector(entry),
		ObjectSelector:    or(entry.ObjectSelector, &metav1.LabelSelector{}).DeepCopy(),
		SideEffects:       ptr.To(or(entry.SideEffects, admissionv1.SideEffectClassNone)),
		TimeoutSeconds:    ptr.To(or(entry.TimeoutSeconds, c.TimeoutSeconds)),
		MatchConditions:   entry.MatchConditions,
		// v1 first: the API server takes the first one that it knows.
		AdmissionReviewVersions: []string{"v1", "v1beta1"},
	}
	if entry.Mutating {
		webhook.ReinvocationPolicy = ptr.To(or(entry.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy))
	}
	return webhook
}

func (c Config) failurePolicy(entry Entry) admissionv1.FailurePolicyType {
	return or(c.FailurePolicies[entry.Name], or(entry.FailurePolicy, admissionv1.Fail))
}

func rules(entry Entry) []admissionv1.RuleWithOperations {
	scoped := make([]admissionv1.RuleWithOperations, 0, len(entry.Rules))
	for _, rule := range entry.Rules {
		rule = *rule.DeepCopy()
		if rule.Scope == nil {
			rule.Scope = ptr.To(or(entry.Scope, admissionv1.AllScopes))
		}
		scoped = append(scoped, rule)
	}
	return scoped
}
