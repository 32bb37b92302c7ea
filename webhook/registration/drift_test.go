package registration

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/webhook/table"
)

func TestDrift(t *testing.T) {
	entries := []table.Entry{{Name: "a", Mutating: true, Path: "/a"}, {Name: "b", Mutating: true, Path: "/b"}}
	config, err := (table.Config{}).Complete(entries)
	if err != nil {
		t.Fatal(err)
	}
	registered := func() *table.Configuration {
		return config.Render(entries, true, table.Target{CABundle: []byte("a bundle"), Owner: &metav1.OwnerReference{Kind: "ValidatingWebhookConfiguration", Name: table.AnchorName, UID: "u"}})
	}
	for _, tt := range []struct {
		name   string
		change func(*table.Configuration)
		want   []string
	}{
		{"as it should be", func(*table.Configuration) {}, nil},
		{"another failure policy", func(c *table.Configuration) { c.Webhooks[1].FailurePolicy = ptr.To(admissionv1.Ignore) }, []string{"webhook b: FailurePolicy"}},
		{"one is missing", func(c *table.Configuration) { c.Webhooks = c.Webhooks[:1] }, []string{"webhook b is missing"}},
		{"one too many", func(c *table.Configuration) { c.Webhooks = append(c.Webhooks, admissionv1.MutatingWebhook{Name: "c"}) }, []string{"webhook c is not in the table"}},
		{"another service", func(c *table.Configuration) { c.Webhooks[0].ClientConfig.Service.Name = "other" }, []string{"webhook a: ClientConfig"}},
	} {
		live := registered()
		tt.change(live)
		if got := Drift(config, entries, true, live); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := Drift(config, entries, true, nil); !slices.Equal(got, []string{"webhook a is missing", "webhook b is missing"}) {
		t.Errorf("none: %q", got)
	}
	if got := Drift(config, entries, false, nil); got != nil {
		t.Errorf("none is wanted: %q", got)
	}
}

func TestConversionDrift(t *testing.T) {
	config, err := (table.Config{}).Complete(nil)
	if err != nil {
		t.Fatal(err)
	}
	definition := func(service string) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte("x"), Service: &apiextensionsv1.ServiceReference{
					Namespace: "kruise-system", Name: service, Path: ptr.To("/convert"), Port: ptr.To(int32(443)),
				}},
			},
		}}}
	}
	for crd, want := range map[*apiextensionsv1.CustomResourceDefinition][]string{
		definition("kruise-conversion"):      nil,
		definition("kruise-webhook-service"): {"clientConfig"},
		{}:                                   {"strategy"},
	} {
		if got := ConversionDrift(config, "kruise-conversion", "/convert", crd); !slices.Equal(got, want) {
			t.Errorf("%v: %q, want %q", crd.Spec.Conversion, got, want)
		}
	}
}
