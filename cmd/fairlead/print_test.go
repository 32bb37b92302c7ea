package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/certs"
)

// printed runs `fairlead webhook print`.
func printed(stdin []byte, args ...string) (string, error) {
	var out bytes.Buffer
	command := newPrintCommand(func(string) string { return "" })
	command.SetArgs(args)
	command.SetIn(bytes.NewReader(stdin))
	command.SetOut(&out)
	command.SetErr(&out)
	err := command.Execute()
	return out.String(), err
}

func caBundle(t *testing.T) []byte {
	t.Helper()
	source, err := certs.SelfSigned([]string{"localhost"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	return source.Bundle()
}

func TestPrintWritesTheConfigurationThatWouldBeRegistered(t *testing.T) {
	bundle := caBundle(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"file": {file}, "standard input": {"-"}} {
		out, err := printed(bundle, append([]string{
			"--namespace=policies", "--webhook-timeout-seconds=7", "--webhook-failure-policies=mpod.kb.io=Ignore",
			"--annotations=a=b", "--ca-bundle-file",
		}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		mutating, _, _ := strings.Cut(strings.TrimPrefix(out, "---\n"), "---\n")
		var got admissionv1.MutatingWebhookConfiguration
		if err := yaml.UnmarshalStrict([]byte(mutating), &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		pods := got.Webhooks[0]
		if got.Name != "kruise-mutating-webhook-configuration" || got.Kind != "MutatingWebhookConfiguration" || got.Annotations["a"] != "b" {
			t.Errorf("%s: metadata of %s %s: %v", name, got.Kind, got.Name, got.Annotations)
		}
		if pods.Name != "mpod.kb.io" || *pods.TimeoutSeconds != 7 || *pods.FailurePolicy != "Ignore" || !bytes.Equal(pods.ClientConfig.CABundle, bundle) {
			t.Errorf("%s: webhook %+v", name, pods)
		}
		if diff := cmp.Diff([]string{"kube-system", "policies"}, pods.NamespaceSelector.MatchExpressions[0].Values); diff != "" {
			t.Errorf("%s: namespaces left out:\n%s", name, diff)
		}
	}
}

func TestPrintFollowsFeatureGatesAndLeavesTheBundleToAnInjector(t *testing.T) {
	out, err := printed(nil, "--feature-gates=PodWebhook=false", "--annotations=cert-manager.io/inject-ca-from=kruise-system/webhook")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "mpod.kb.io") || strings.Contains(out, "caBundle") || !strings.Contains(out, "msidecarset.kb.io") {
		t.Errorf("printed:\n%s", out)
	}
}

// What the service would write into definitions is printed for whoever writes it in its place: how they convert, with the CA,
// and nothing else of them.
func TestPrintSaysHowDefinitionsConvert(t *testing.T) {
	bundle := caBundle(t)
	out, err := printed(bundle, "--namespace=policies", "--ca-bundle-file=-", "--annotations=a=b")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for document := range strings.SplitSeq(out, "---\n") {
		if !strings.Contains(document, "kind: CustomResourceDefinition") {
			continue
		}
		var got apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict([]byte(document), &got); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		names = append(names, got.Name)
		want := apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: got.Name, Annotations: map[string]string{"a": "b"}},
		}
		want.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: "Webhook", Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: bundle, Service: &apiextensionsv1.ServiceReference{
					Namespace: "policies", Name: "kruise-conversion", Path: ptr.To("/convert"), Port: ptr.To[int32](443),
				}},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", got.Name, diff)
		}
		if strings.Contains(document, "versions:\n") || strings.Contains(document, "status:") {
			t.Errorf("more than the conversion of %s is printed, and would be applied:\n%s", got.Name, document)
		}
	}
	if len(names) != 12 || !slices.Contains(names, "sidecarsets.apps.kruise.io") || slices.Contains(names, "broadcastjobs.apps.kruise.io") {
		t.Errorf("definitions %v", names)
	}
	if out, err = printed(nil, "--definitions=false"); err != nil || strings.Contains(out, "CustomResourceDefinition") {
		t.Errorf("definitions are printed although they are not wanted (%v):\n%s", err, out)
	}
}

func TestPrintRefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such file":    {[]string{"--ca-bundle-file=/does/not/exist"}, "reading the CA bundle: open /does/not/exist"},
		"not a CA":        {[]string{"--ca-bundle-file=-"}, "--ca-bundle-file must name PEM certificates"},
		"timeout":         {[]string{"--webhook-timeout-seconds=60"}, "60 s is not between 1 and 30 s"},
		"unknown webhook": {[]string{"--webhook-failure-policies=pods=Ignore"}, `there is no webhook "pods"`},
	} {
		if _, err := printed([]byte("rubbish"), c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestPoliciesArePrinted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "images")
	const rules = "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [''], resources: [pods]}]}\npackage images\n\ndeny contains \"no\" if true\n"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.rego"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle := caBundle(t)
	out, err := printed(bundle, "--ca-bundle-file=-", "--definitions=false", "--policies="+dir, "--namespace=rules")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(strings.TrimPrefix(out, "---\n"), "---\n")
	if len(documents) != 3 {
		t.Fatalf("there are %d documents, want 3", len(documents))
	}
	var configuration admissionv1.ValidatingWebhookConfiguration
	if err := yaml.UnmarshalStrict([]byte(documents[2]), &configuration); err != nil {
		t.Fatal(err)
	}
	if configuration.Name != "kruise-policies-webhook-configuration" || len(configuration.Webhooks) != 1 {
		t.Fatalf("the third is %s with %d webhooks", configuration.Name, len(configuration.Webhooks))
	}
	webhook := configuration.Webhooks[0]
	service := webhook.ClientConfig.Service
	if webhook.Name != "images.policies.fairlead.io" || *service.Path != "/policies/images" || service.Namespace != "rules" || !bytes.Equal(webhook.ClientConfig.CABundle, bundle) {
		t.Errorf("the webhook is %+v", webhook)
	}
	if _, err := printed(bundle, "--ca-bundle-file=-", "--policies="+filepath.Join(dir, "none")); err == nil {
		t.Error("policies that are not there are no error")
	}
}
