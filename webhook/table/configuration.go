package table

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Configuration is a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration. The two kinds differ in one
// field only, so that what handles both need not be written twice.
type Configuration struct {
	Mutating bool
	metav1.ObjectMeta
	// Webhooks are the entries; a validating configuration's have no ReinvocationPolicy.
	Webhooks []admissionv1.MutatingWebhook
}

// Target is what the running service adds to a rendering.
type Target struct {
	// CABundle is PEM; nil leaves the field out, for whoever else injects it.
	CABundle []byte
	// Owner is the anchor; nil for none.
	Owner *metav1.OwnerReference
}

// NameOf returns the name of the mutating or of the validating configuration.
func NameOf(mutating bool) string {
	if mutating {
		return MutatingName
	}
	return ValidatingName
}

// Kind is the configuration's API kind.
func (c *Configuration) Kind() string {
	if c.Mutating {
		return "MutatingWebhookConfiguration"
	}
	return "ValidatingWebhookConfiguration"
}

// Entry returns the entry with a name, or nil.
func (c *Configuration) Entry(name string) *admissionv1.MutatingWebhook {
	for i := range c.Webhooks {
		if c.Webhooks[i].Name == name {
			return &c.Webhooks[i]
		}
	}
	return nil
}

// FromMutating wraps a configuration that was read; it shares its memory.
func FromMutating(object *admissionv1.MutatingWebhookConfiguration) *Configuration {
	return &Configuration{Mutating: true, ObjectMeta: object.ObjectMeta, Webhooks: object.Webhooks}
}

// FromValidating wraps a configuration that was read; it shares its memory.
func FromValidating(object *admissionv1.ValidatingWebhookConfiguration) *Configuration {
	c := &Configuration{ObjectMeta: object.ObjectMeta}
	for _, w := range object.Webhooks {
		c.Webhooks = append(c.Webhooks, admissionv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
			MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		})
	}
	return c
}

// Object returns the configuration as an object of its kind, apiVersion and kind set, ready to be applied or
// printed. It shares memory with c.
func (c *Configuration) Object() runtime.Object {
	kind := metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: c.Kind()}
	if c.Mutating {
		return &admissionv1.MutatingWebhookConfiguration{TypeMeta: kind, ObjectMeta: c.ObjectMeta, Webhooks: c.Webhooks}
	}
	object := &admissionv1.ValidatingWebhookConfiguration{TypeMeta: kind, ObjectMeta: c.ObjectMeta}
	for _, w := range c.Webhooks {
		object.Webhooks = append(object.Webhooks, admissionv1.ValidatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
			MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		})
	}
	return object
}
