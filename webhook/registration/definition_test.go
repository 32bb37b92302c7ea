package registration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsfake "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// crd is a definition of two versions that converts by a Service.
func crd(service string, bundle []byte, changes ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	c := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "sidecarsets.apps.kruise.io", UID: "u", ResourceVersion: "7"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1"}, {Name: "v1beta1", Storage: true}},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: bundle, Service: &apiextensionsv1.ServiceReference{
						Namespace: "kruise-system", Name: service, Path: ptr.To("/convert"), Port: ptr.To[int32](443),
					}},
					ConversionReviewVersions: []string{"v1"},
				},
			},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1beta1"}},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func alone(c *apiextensionsv1.CustomResourceDefinition) {
	c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
}

func unset(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Conversion = nil }

func mixed(c *apiextensionsv1.CustomResourceDefinition) {
	c.Status.StoredVersions = []string{"v1alpha1", "v1beta1"}
}

func byURL(url string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(c *apiextensionsv1.CustomResourceDefinition) {
		client := c.Spec.Conversion.Webhook.ClientConfig
		client.Service, client.URL = nil, ptr.To(url)
	}
}

func reviewed(versions ...string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec.Conversion.Webhook.ConversionReviewVersions = versions
	}
}

func TestPlanOfADefinition(t *testing.T) {
	const ours, theirs = "kruise-conversion", "kruise-webhook-service"
	ca := []byte("ca")
	byService := newConverting(testConfig(t), ours, "/convert", ca, false)
	injected := newConverting(testConfig(t), ours, "/convert", nil, true)
	withoutCA := newConverting(testConfig(t), ours, "/convert", nil, false)
	outside := newConverting(table.Config{Host: "hooks.example:9876"}, ours, "/convert", ca, false)
	for name, c := range map[string]struct {
		converting       converting
		crd              *apiextensionsv1.CustomResourceDefinition
		anchored, served bool
		want             verb
		differences      []string
	}{
		"as wanted":                      {byService, crd(ours, ca), true, true, leave, nil},
		"nobody can be reached any more": {byService, crd(ours, ca), true, false, leave, nil},
		"not yet":                        {byService, crd(ours, ca, alone), true, false, leave, nil},
		"first":                          {byService, crd(ours, ca, alone), true, true, apply, []string{"strategy"}},
		"first, nothing said":            {byService, crd(ours, ca, unset), true, true, apply, []string{"strategy"}},
		"a new CA":                       {byService, crd(ours, []byte("old")), true, false, apply, []string{"clientConfig"}},
		"other reviews":                  {byService, crd(ours, ca, reviewed("v1beta1", "v1")), true, true, apply, []string{"conversionReviewVersions"}},
		"OpenKruise's, not yet":          {byService, crd(theirs, ca), true, false, leave, nil},
		"OpenKruise's":                   {byService, crd(theirs, ca), true, true, apply, []string{"clientConfig"}},
		"a URL in the way":               {byService, crd(ours, ca, byURL("https://a/convert")), true, true, rewrite, []string{"clientConfig"}},
		"no CA yet":                      {withoutCA, crd(ours, ca, alone), true, true, leave, nil},
		"somebody else's CA":             {injected, crd(ours, []byte("injected")), true, true, leave, nil},
		"first, with somebody else's CA": {injected, crd(ours, ca, alone), true, true, apply, []string{"strategy"}},
		"outside":                        {outside, crd(ours, ca, byURL("https://hooks.example:9876/convert")), true, true, leave, nil},
		"outside, another path":          {outside, crd(ours, ca, byURL("https://hooks.example:9876/old")), true, false, apply, []string{"clientConfig"}},
		"outside, another port":          {outside, crd(ours, ca, byURL("https://hooks.example:98765/convert")), true, false, leave, nil},
		"outside, a Service in the way":  {outside, crd(theirs, ca), true, true, rewrite, []string{"clientConfig"}},

		"no anchor":                                   {byService, crd(ours, ca, alone), false, true, leave, nil},
		"no anchor any more, all stored anew":         {byService, crd(ours, ca), false, true, leave, nil},
		"no anchor any more, some stored as old":      {byService, crd(ours, ca, mixed), false, true, release, []string{"the anchor is gone, and objects are stored as v1alpha1, v1beta1"}},
		"no anchor, and OpenKruise's Service":         {byService, crd(theirs, ca, mixed), false, true, leave, nil},
		"no anchor any more, and no CA":               {withoutCA, crd(ours, ca, mixed), false, true, release, []string{"the anchor is gone, and objects are stored as v1alpha1, v1beta1"}},
		"some stored as old while there is an anchor": {byService, crd(ours, ca, mixed), true, true, leave, nil},
	} {
		got, differences := planDefinition(c.converting, readDefinition(c.crd), c.anchored, c.served)
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if diff := cmp.Diff(c.differences, differences); diff != "" {
			t.Errorf("%s: differences (-want +got):\n%s", name, diff)
		}
	}
}

func TestPublishedWantsTheCAInEveryDefinitionOfOurs(t *testing.T) {
	ca, other := bundleOf(t), bundleOf(t)
	for name, c := range map[string]struct {
		crd  *apiextensionsv1.CustomResourceDefinition
		want bool
	}{
		"in it":               {crd("kruise-conversion", ca), true},
		"another":             {crd("kruise-conversion", other), false},
		"no bundle":           {crd("kruise-conversion", nil), false},
		"not in OpenKruise's": {crd("kruise-webhook-service", other), true},
		"none":                {crd("kruise-conversion", other, alone), true},
	} {
		conversion := &Conversion{
			Client:  apiextensionsfake.NewClientset(c.crd).ApiextensionsV1().CustomResourceDefinitions(),
			Service: "kruise-conversion", Path: "/convert", Definitions: []string{"clonesets.apps.kruise.io", c.crd.Name},
		}
		got, err := Published(fake.NewClientset(), testConfig(t), conversion)(t.Context(), ca)
		if err != nil || got != c.want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}
