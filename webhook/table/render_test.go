package table_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/webhook/table"
)

func entries() []table.Entry {
	rule := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{"CREATE"},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}
	return []table.Entry{
		{
			Name: "mpod.kb.io", Mutating: true, Path: "/mutate-pod", Rules: []admissionv1.RuleWithOperations{rule},
			Namespaces: table.TenantNamespaces, ReinvocationPolicy: "IfNeeded", Gate: "PodWebhook",
		},
		{
			Name: "vservice.kb.io", Path: "/validate-service", Rules: []admissionv1.RuleWithOperations{rule},
			Scope: "Namespaced", FailurePolicy: "Ignore", TimeoutSeconds: 3, SideEffects: "NoneOnDryRun", MatchPolicy: "Exact",
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"c": "d"}},
			MatchConditions:   []admissionv1.MatchCondition{{Name: "some", Expression: "true"}},
			Namespaces:        table.TenantNamespaces,
		},
	}
}

const wantMutating = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: kruise-mutating-webhook-configuration
  annotations: {x: "y"}
  labels: {l: m}
  ownerReferences:
  - {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, name: kruise-anchor, uid: u1}
webhooks:
- name: mpod.kb.io
  admissionReviewVersions: [v1, v1beta1]
  clientConfig:
    caBundle: UEVN
    service: {namespace: kruise-system, name: kruise-admission, path: /mutate-pod, port: 443}
  rules:
  - {operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods], scope: "*"}
  failurePolicy: Fail
  matchPolicy: Equivalent
  reinvocationPolicy: IfNeeded
  sideEffects: None
  timeoutSeconds: 5
  objectSelector: {}
  namespaceSelector:
    matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kruise-system]}
`

const wantValidating = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: kruise-validating-webhook-configuration
webhooks:
- name: vservice.kb.io
  admissionReviewVersions: [v1, v1beta1]
  clientConfig:
    service: {namespace: own, name: svc, path: /validate-service, port: 8443}
  rules:
  - {operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods], scope: Namespaced}
  failurePolicy: Ignore
  matchPolicy: Exact
  sideEffects: NoneOnDryRun
  timeoutSeconds: 3
  objectSelector: {matchLabels: {c: d}}
  matchConditions: [{name: some, expression: "true"}]
  namespaceSelector:
    matchLabels: {a: b}
    matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, own]}
    - {key: control-plane, operator: NotIn, values: ["true"]}
    - {key: kubernetes.azure.com/managedby, operator: NotIn, values: [aks]}
`

func TestRenderSpellsOutEveryField(t *testing.T) {
	owner := &metav1.OwnerReference{
		APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration", Name: "kruise-anchor", UID: "u1",
	}
	for name, c := range map[string]struct {
		config   table.Config
		target   table.Target
		mutating bool
		want     string
	}{
		"defaults, owned, with a bundle": {
			config:   table.Config{Annotations: map[string]string{"x": "y"}, Labels: map[string]string{"l": "m"}},
			target:   table.Target{CABundle: []byte("PEM"), Owner: owner},
			mutating: true, want: wantMutating,
		},
		"everything set, on Azure, bundle injected by another": {
			config: table.Config{Namespace: "own", Service: "svc", Port: 8443, TimeoutSeconds: 9, AKSIntegration: true},
			want:   wantValidating,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := asMap(t, c.config.Render(entries(), c.mutating, c.target).Object())
			var want map[string]any
			if err := yaml.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderIsNilWithoutEntriesOfItsKind(t *testing.T) {
	if got := (table.Config{}).Render(entries()[:1], false, table.Target{}); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestRenderOverridesTheFailurePolicyByName(t *testing.T) {
	config := table.Config{FailurePolicies: map[string]admissionv1.FailurePolicyType{"mpod.kb.io": "Ignore"}}
	webhook := config.Render(entries(), true, table.Target{}).Entry("mpod.kb.io")
	if got := *webhook.FailurePolicy; got != "Ignore" {
		t.Errorf("failure policy %s", got)
	}
}

// A rendering must not reach back into the table, whose selectors are shared by every rendering.
func TestRenderSharesNothingWithTheTable(t *testing.T) {
	all := entries()
	config := table.Config{}
	config.Render(all, false, table.Target{}).Webhooks[0].NamespaceSelector.MatchLabels["a"] = "changed"
	config.Render(all, false, table.Target{}).Webhooks[0].Rules[0].Resources[0] = "changed"
	if diff := cmp.Diff(entries(), all); diff != "" {
		t.Errorf("the table changed:\n%s", diff)
	}
}

func TestConfigurationsSurviveTheirObjects(t *testing.T) {
	config := table.Config{}
	mutating := config.Render(entries(), true, table.Target{})
	validating := config.Render(entries(), false, table.Target{})
	if diff := cmp.Diff(mutating, table.FromMutating(mutating.Object().(*admissionv1.MutatingWebhookConfiguration))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(validating, table.FromValidating(validating.Object().(*admissionv1.ValidatingWebhookConfiguration))); diff != "" {
		t.Error(diff)
	}
}

func TestConfigComplete(t *testing.T) {
	for name, c := range map[string]struct {
		config table.Config
		want   string // part of the error; empty for none
	}{
		"defaults":          {},
		"timeout too long":  {table.Config{TimeoutSeconds: 31}, "31 s is not between 1 and 30 s"},
		"timeout negative":  {table.Config{TimeoutSeconds: -1}, "-1 s is not between"},
		"no such webhook":   {table.Config{FailurePolicies: map[string]admissionv1.FailurePolicyType{"mpods": "Fail"}}, `there is no webhook "mpods"; there are mpod.kb.io, vservice.kb.io`},
		"no such policy":    {table.Config{FailurePolicies: map[string]admissionv1.FailurePolicyType{"mpod.kb.io": "fail"}}, `"fail", which must be Fail or Ignore`},
		"policy overridden": {table.Config{FailurePolicies: map[string]admissionv1.FailurePolicyType{"mpod.kb.io": "Ignore"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.config.Complete(entries())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	completed, err := table.Config{}.Complete(nil)
	want := table.Config{Namespace: "kruise-system", Service: "kruise-admission", Port: 443, TimeoutSeconds: 5}
	if diff := cmp.Diff(want, completed); err != nil || diff != "" {
		t.Errorf("defaults: %v\n%s", err, diff)
	}
	if got := completed.ServerName(); got != "kruise-admission.kruise-system.svc" {
		t.Errorf("server name %s", got)
	}
}

func TestAServiceOutsideTheClusterIsReachedByItsURL(t *testing.T) {
	inside, outside := table.Config{}, table.Config{Host: "dev.example:8443"}
	webhook := outside.Render(entries(), true, table.Target{CABundle: []byte("PEM")}).Webhooks[0]
	want := admissionv1.WebhookClientConfig{URL: ptr.To("https://dev.example:8443/mutate-pod"), CABundle: []byte("PEM")}
	if diff := cmp.Diff(want, webhook.ClientConfig); diff != "" {
		t.Errorf("client config (-want +got):\n%s", diff)
	}
	if got := outside.ServerName(); got != "dev.example" {
		t.Errorf("server name %s", got)
	}
	service := inside.Render(entries(), true, table.Target{}).Webhooks[0].ClientConfig
	for name, c := range map[string]struct {
		config table.Config
		client admissionv1.WebhookClientConfig
		want   bool
	}{
		"our Service":            {inside, service, true},
		"our URL":                {outside, webhook.ClientConfig, true},
		"URL, we have a Service": {inside, webhook.ClientConfig, false},
		"Service, we have a URL": {outside, service, false},
		"another namespace":      {table.Config{Namespace: "other"}, service, false},
		"another Service":        {table.Config{Service: "kruise-webhook-service"}, service, false},
		"another host":           {table.Config{Host: "dev.example:844"}, webhook.ClientConfig, false},
	} {
		if got := c.config.ReachesUs(c.client); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

type gates map[featuregate.Feature]bool

func (g gates) Enabled(feature featuregate.Feature) bool { return g[feature] }

func TestEnabledKeepsUngatedEntriesAndThoseWhoseGateIsOn(t *testing.T) {
	for on, want := range map[bool][]string{true: {"mpod.kb.io", "vservice.kb.io"}, false: {"vservice.kb.io"}} {
		if diff := cmp.Diff(want, table.Names(table.Enabled(entries(), gates{"PodWebhook": on}))); diff != "" {
			t.Errorf("gate %v:\n%s", on, diff)
		}
	}
}

func asMap(t *testing.T, object any) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
