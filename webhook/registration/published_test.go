package registration

import (
	"errors"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/webhook/table"
)

func bundleOf(t *testing.T) []byte {
	t.Helper()
	source, err := certs.SelfSigned([]string{"localhost"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	return source.Bundle()
}

func TestPublishedWantsTheCAInEveryWebhookOfOurs(t *testing.T) {
	ca, other := bundleOf(t), bundleOf(t)
	with := func(bundles ...[]byte) edit {
		return func(c *table.Configuration) {
			for i := range c.Webhooks {
				c.Webhooks[i].ClientConfig.CABundle = bundles[i%len(bundles)]
			}
		}
	}
	mixed := append(append([]byte{}, other...), ca...)
	for name, c := range map[string]struct {
		mutating, validating *table.Configuration
		want                 bool
	}{
		"nothing registered":            {nil, nil, true},
		"in all":                        {found(t, true, with(mixed, ca)), nil, true},
		"in one of two":                 {found(t, true, with(mixed, other)), nil, false},
		"no bundle":                     {found(t, true, with(nil)), nil, false},
		"damaged bundle":                {found(t, true, with(ca[:40])), nil, false},
		"not in OpenKruise's":           {found(t, true, with(ca), elsewhere("mold.kb.io")), nil, true},
		"not in the validating one":     {found(t, true, with(ca)), asValidating(found(t, true, with(other))), false},
		"in the validating one as well": {found(t, true, with(ca)), asValidating(found(t, true, with(ca))), true},
	} {
		var objects []runtime.Object
		for _, configuration := range []*table.Configuration{c.mutating, c.validating} {
			if configuration != nil {
				objects = append(objects, configuration.Object())
			}
		}
		got, err := Published(fake.NewClientset(objects...), testConfig(t), nil)(t.Context(), ca)
		if err != nil || got != c.want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}

func asValidating(c *table.Configuration) *table.Configuration {
	c.Mutating, c.Name = false, table.ValidatingName
	return c
}

func TestPublishedSaysWhenItCannotTell(t *testing.T) {
	away := errors.New("away")
	client := fake.NewClientset()
	client.PrependReactor("get", "mutatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &admissionv1.MutatingWebhookConfiguration{}, away
	})
	published := Published(client, testConfig(t), nil)
	if got, err := published(t.Context(), bundleOf(t)); got || !errors.Is(err, away) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := published(t.Context(), []byte("rubbish")); got || err == nil {
		t.Errorf("rubbish: got %v, %v", got, err)
	}
}
