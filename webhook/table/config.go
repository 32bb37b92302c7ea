package table

import (
	"fmt"
	"net"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Names that users know (webhook-server.md §1, DESIGN.md §6).
const (
	MutatingName   = "kruise-mutating-webhook-configuration"
	ValidatingName = "kruise-validating-webhook-configuration"
	// PoliciesName is the ValidatingWebhookConfiguration of users' policies, whose entries are none of the table's.
	PoliciesName = "kruise-policies-webhook-configuration"
	// AnchorName is the empty ValidatingWebhookConfiguration of the chart that the configurations depend on.
	AnchorName = "kruise-anchor"
	// DefaultNamespace and DefaultService are where the chart puts the admission service.
	DefaultNamespace = "kruise-system"
	DefaultService   = "kruise-admission"
)

const (
	// defaultTimeoutSeconds is short because a Pod's creation waits for it (spec decision 3).
	defaultTimeoutSeconds = 5
	// maxTimeoutSeconds is the API server's own bound.
	maxTimeoutSeconds = 30
	// defaultPort is that of the Service, not of the Pods.
	defaultPort = 443
)

// Config is what an installation decides about its webhooks. Its zero value is the default installation.
type Config struct {
	// Namespace is the release namespace and Service the Service in it that reaches the webhook replicas.
	Namespace, Service string
	// Port is that of the Service.
	Port int32
	// Host, as host:port, is where the API server reaches a service that runs outside the cluster; it replaces the
	// Service (WEBHOOK_HOST, webhook-server.md §3).
	Host string
	// TimeoutSeconds, 1 to 30, applies to entries without a timeout of their own.
	TimeoutSeconds int32
	// FailurePolicies overrides the failure policy by entry name.
	FailurePolicies map[string]admissionv1.FailurePolicyType
	// AKSIntegration leaves out namespaces that Azure manages. Its admission enforcer adds these requirements to every
	// webhook, and would fight over them with us if we did not write them ourselves.
	AKSIntegration bool
	// Annotations and Labels are put onto the configurations.
	Annotations, Labels map[string]string
}

// Complete returns the config with its defaults filled in, or says what is wrong with it, given all entries
// regardless of their gates.
func (c Config) Complete(entries []Entry) (Config, error) {
	c = c.withDefaults()
	if c.TimeoutSeconds < 1 || c.TimeoutSeconds > maxTimeoutSeconds {
		return c, fmt.Errorf("checking the webhook timeout: %d s is not between 1 and %d s", c.TimeoutSeconds, maxTimeoutSeconds)
	}
	names := Names(entries)
	for name, policy := range c.FailurePolicies {
		if !slices.Contains(names, name) {
			return c, fmt.Errorf("checking failure policies: there is no webhook %q; there are %s", name, strings.Join(names, ", "))
		}
		if policy != admissionv1.Fail && policy != admissionv1.Ignore {
			return c, fmt.Errorf("checking failure policies: %s has policy %q, which must be Fail or Ignore", name, policy)
		}
	}
	return c, nil
}

func (c Config) withDefaults() Config {
	c.Namespace = or(c.Namespace, DefaultNamespace)
	c.Service = or(c.Service, DefaultService)
	c.Port = or(c.Port, defaultPort)
	c.TimeoutSeconds = or(c.TimeoutSeconds, defaultTimeoutSeconds)
	return c
}

// ServerName is the host that the API server asks for, and so must be in the serving certificate.
func (c Config) ServerName() string {
	c = c.withDefaults()
	if host, _, err := net.SplitHostPort(c.Host); err == nil {
		return host
	}
	return or(c.Host, c.Service+"."+c.Namespace+".svc")
}

// ReachesUs says whether a client configuration leads to this installation's service, whatever the path.
func (c Config) ReachesUs(client admissionv1.WebhookClientConfig) bool {
	c = c.withDefaults()
	if c.Host != "" {
		return client.URL != nil && strings.HasPrefix(*client.URL, c.url("/"))
	}
	return client.Service != nil && client.Service.Namespace == c.Namespace && client.Service.Name == c.Service
}

// PathOf is the path that a client configuration which reaches us leads to; "" if it names none.
func (c Config) PathOf(client admissionv1.WebhookClientConfig) string {
	c = c.withDefaults()
	switch {
	case c.Host != "" && client.URL != nil:
		return strings.TrimPrefix(*client.URL, c.url(""))
	case c.Host == "" && client.Service != nil && client.Service.Path != nil:
		return *client.Service.Path
	default:
		return ""
	}
}

func (c Config) url(path string) string { return "https://" + c.Host + path }

func (c Config) client(path string, caBundle []byte) admissionv1.WebhookClientConfig {
	if c.Host != "" {
		return admissionv1.WebhookClientConfig{URL: ptr.To(c.url(path)), CABundle: caBundle}
	}
	return admissionv1.WebhookClientConfig{CABundle: caBundle, Service: &admissionv1.ServiceReference{
		Namespace: c.Namespace, Name: c.Service, Path: ptr.To(path), Port: ptr.To(c.Port),
	}}
}

func (c Config) namespaceSelector(entry Entry) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	if entry.NamespaceSelector != nil {
		selector = entry.NamespaceSelector.DeepCopy()
	}
	if entry.Namespaces != TenantNamespaces {
		return selector
	}
	selector.MatchExpressions = append(selector.MatchExpressions,
		notIn("kubernetes.io/metadata.name", metav1.NamespaceSystem, c.Namespace))
	if c.AKSIntegration {
		selector.MatchExpressions = append(selector.MatchExpressions,
			notIn("control-plane", "true"), notIn("kubernetes.azure.com/managedby", "aks"))
	}
	return selector
}

func notIn(key string, values ...string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: values}
}

// or returns the value, or its default if it is zero.
func or[T comparable](value, byDefault T) T {
	var zero T
	if value == zero {
		return byDefault
	}
	return value
}
