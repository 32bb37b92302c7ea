package registration

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/webhook/table"
)

var injection = map[string]string{"cert-manager.io/inject-ca-from": "kruise-system/kruise-webhook"}

func both(a, b []byte) []byte { return append(append([]byte{}, a...), b...) }

func TestBundleFor(t *testing.T) {
	own, other, foreign := bundleOf(t), bundleOf(t), bundleOf(t)
	for name, c := range map[string]struct {
		bundle, others []byte
		injected       bool
		live           []byte
		held, proven   bool
		want           []byte
	}{
		"ours alone":                                  {bundle: own, live: own, want: own},
		"ours, nothing there":                         {bundle: own, others: other, want: own},
		"ours, the other's rests in the Secret":       {bundle: own, others: other, live: own, want: own},
		"back to ours, just after the injector's":     {bundle: own, others: other, live: other, want: both(own, other)},
		"back to ours, not all have followed":         {bundle: own, others: other, live: both(own, other), want: both(own, other)},
		"back to ours, all have followed":             {bundle: own, others: other, live: both(own, other), proven: true, want: own},
		"ours, a foreign CA is not kept":              {bundle: own, others: other, live: both(own, foreign), want: own},
		"the same Secret has both":                    {bundle: own, others: own, live: own, want: own},
		"the injector's, nothing there":               {bundle: own, injected: true, want: own},
		"to the injector, ours is there":              {bundle: own, others: other, injected: true, live: other, held: true, want: both(own, other)},
		"to the injector, we own the field":           {bundle: own, injected: true, live: both(other, own), held: true, want: both(other, own)},
		"to the injector, nobody owns the field":      {bundle: own, injected: true, live: both(other, own), want: nil},
		"the injector's, it has acted":                {bundle: own, others: other, injected: true, live: own, want: nil},
		"the injector's, a CA that is no certificate": {bundle: own, injected: true, live: []byte("x"), want: own},
		"there is no CA":                              {injected: true, live: other, held: true, want: nil},
	} {
		w := wanted{bundle: c.bundle, others: c.others, injected: c.injected}
		got := w.bundleFor(c.live, c.held, c.proven)
		if !holds(got, c.want) || !holds(c.want, got) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// ownedBy is what managedFields say of an object whose one webhook's timeout and bundle we own, and another the rules.
func ownedBy(manager, field string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{
		{Manager: "someone", FieldsV1: metav1.NewFieldsV1(`{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`)},
		{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:webhooks":{"k:{\"name\":\"a\"}":{".":{},"f:clientConfig":{"f:` + field + `":{}},"f:timeoutSeconds":{}}}}`)},
	}
}

func TestYieldGivesUpTheBundleAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   bool
	}{
		"ours": {ownedBy(fieldManager, "caBundle"), true}, "another field": {ownedBy(fieldManager, "url"), false},
		"another's": {ownedBy("cert-manager-cainjector", "caBundle"), false},
	} {
		if got := holdsBundle(c.fields); got != c.want {
			t.Errorf("%s: we own the bundle: %v", name, got)
		}
	}
	body, err := yieldPatch(ownedBy(fieldManager, "caBundle"), "7")
	if err != nil {
		t.Fatal(err)
	}
	var patch []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		t.Fatal(err)
	}
	var kept []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(patch[0].Value, &kept); err != nil {
		t.Fatal(err)
	}
	if got := kept[0].FieldsV1.GetRawString(); got != ownedBy("", "")[0].FieldsV1.GetRawString() {
		t.Errorf("another's fields became %s", got)
	}
	// An empty f:clientConfig would mean all that is below.
	if got, want := kept[1].FieldsV1.GetRawString(), `{"f:webhooks":{"k:{\"name\":\"a\"}":{".":{},"f:timeoutSeconds":{}}}}`; got != want {
		t.Errorf("ours are %s, want %s", got, want)
	}
	if patch[1].Path != "/metadata/resourceVersion" || string(patch[1].Value) != `"7"` {
		t.Errorf("no precondition: %+v", patch[1])
	}
}

// certified gives every webhook a bundle, and the configuration managed fields and annotations.
func certified(bundle []byte, fields []metav1.ManagedFieldsEntry, annotations map[string]string) edit {
	return func(c *table.Configuration) {
		for i := range c.Webhooks {
			c.Webhooks[i].ClientConfig.CABundle = bundle
		}
		c.ManagedFields, c.Annotations = fields, annotations
	}
}

// A switch to the injector and back, step by step.
func TestPlanOfASwitch(t *testing.T) {
	own, other := bundleOf(t), bundleOf(t)
	ours, nobody := ownedBy(fieldManager, "caBundle"), ownedBy(fieldManager, "url")
	for name, c := range map[string]struct {
		injected    bool
		live        edit
		proven      bool
		want        verb
		bundle      []byte // of what is written
		annotations map[string]string
		needsProof  bool
	}{
		"to the injector, first":           {true, certified(other, ours, nil), false, apply, both(own, other), nil, true},
		"to the injector, both are there":  {true, certified(both(own, other), ours, nil), false, yield, both(own, other), nil, true},
		"to the injector, replicas lag":    {true, certified(both(own, other), nobody, nil), false, leave, nil, nil, true},
		"to the injector, all follow":      {true, certified(both(own, other), nobody, nil), true, apply, nil, injection, true},
		"the injector has acted":           {true, certified(own, nobody, injection), false, leave, nil, nil, false},
		"the injector merges":              {true, certified(both(other, own), nobody, injection), false, leave, nil, nil, false},
		"back, first":                      {false, certified(other, nobody, injection), false, rewrite, both(own, other), nil, true},
		"back, replicas lag":               {false, certified(both(own, other), ours, nil), false, leave, nil, nil, true},
		"back, all follow":                 {false, certified(both(own, other), ours, nil), true, apply, own, nil, true},
		"back, and done":                   {false, certified(own, ours, nil), false, leave, nil, nil, false},
		"an annotation that is not wanted": {false, certified(own, ours, injection), false, rewrite, own, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted{config: testConfig(t), entries: testTable(), bundle: own, others: other, injected: c.injected, inject: injection}
			if !c.injected {
				w.inject = nil
			}
			live := found(t, true, c.live)
			got := plan(w, mutating, seen{anchor: anchorRef("a1"), live: live, proven: c.proven})
			if got.verb != c.want {
				t.Fatalf("%s, want %s; differences %q", got.verb, c.want, got.differences)
			}
			if needs := w.needsProof(live); needs != c.needsProof {
				t.Errorf("it depends on what replicas serve: %v", needs)
			}
			if got.verb == leave {
				return
			}
			for _, webhook := range got.configuration.Webhooks {
				if bundle := webhook.ClientConfig.CABundle; !holds(bundle, c.bundle) || !holds(c.bundle, bundle) {
					t.Errorf("webhook %s gets\n%s\nwant\n%s", webhook.Name, bundle, c.bundle)
				}
			}
			if diff := cmp.Diff(c.annotations, got.configuration.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if unwanted := got.verb == rewrite; unwanted != (len(got.unwanted) == 1) {
				t.Errorf("takes away %q", got.unwanted)
			}
		})
	}
}

func TestPlanOfASwitchOfADefinition(t *testing.T) {
	own, other := bundleOf(t), bundleOf(t)
	heldCRD := func(c *apiextensionsv1.CustomResourceDefinition) { c.ManagedFields = ownedBy(fieldManager, "caBundle") }
	asked := func(c *apiextensionsv1.CustomResourceDefinition) { c.Annotations = injection }
	for name, c := range map[string]struct {
		injected    bool
		crd         *apiextensionsv1.CustomResourceDefinition
		proven      bool
		want        verb
		bundle      []byte
		annotations map[string]string
		needsProof  bool
	}{
		"to the injector, first":          {true, crd("kruise-conversion", other, heldCRD), false, apply, both(own, other), nil, true},
		"to the injector, both are there": {true, crd("kruise-conversion", both(own, other), heldCRD), false, yield, both(own, other), nil, true},
		"to the injector, all follow":     {true, crd("kruise-conversion", both(own, other)), true, apply, nil, injection, true},
		"the injector has acted":          {true, crd("kruise-conversion", own, asked), false, leave, nil, injection, false},
		"the bundle was lost":             {true, crd("kruise-conversion", nil, asked), false, apply, own, injection, false},
		"back, first":                     {false, crd("kruise-conversion", other, asked), false, rewrite, both(own, other), nil, true},
		"back, all follow":                {false, crd("kruise-conversion", both(own, other), heldCRD), true, apply, own, nil, true},
		"back, and done":                  {false, crd("kruise-conversion", own, heldCRD), false, leave, own, nil, false},
		"new, and no CA of its own":       {true, crd("kruise-conversion", nil), false, apply, own, nil, true},
	} {
		w := wanted{config: testConfig(t), bundle: own, others: other, injected: c.injected, inject: injection}
		if !c.injected {
			w.inject = nil
		}
		base, d := newConverting(testConfig(t), "kruise-conversion", "/convert", nil, false), readDefinition(c.crd)
		if got := base.needsProof(w, d); got != c.needsProof {
			t.Errorf("%s: it depends on what replicas serve: %v", name, got)
		}
		converting := base.certified(w, d, c.proven)
		if got, differences := planDefinition(converting, d, true, true); got != c.want {
			t.Errorf("%s: %s (%q), want %s", name, got, differences, c.want)
		}
		if bundle := converting.client.CABundle; !holds(bundle, c.bundle) || !holds(c.bundle, bundle) {
			t.Errorf("%s: bundle\n%s\nwant\n%s", name, bundle, c.bundle)
		}
		if diff := cmp.Diff(c.annotations, converting.annotations); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", name, diff)
		}
	}
}

// Endpoints that may get requests count, whether they are ready or not: they are being stopped, or convert only.
func TestProofCountsEveryEndpointThatMayGetRequests(t *testing.T) {
	yes, no := ptr.To(true), ptr.To(false)
	slice := discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Port: ptr.To[int32](9876)}}, Endpoints: []discoveryv1.Endpoint{
		{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: yes, Serving: yes}},
		{Addresses: []string{"10.0.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: no, Serving: yes, Terminating: yes}},
		{Addresses: []string{"10.0.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: no, Serving: no}},
		{Addresses: []string{"10.0.0.4"}},
	}}
	want := []string{"10.0.0.1:9876", "10.0.0.2:9876", "10.0.0.4:9876"}
	if diff := cmp.Diff(want, servingAddresses([]discoveryv1.EndpointSlice{slice})); diff != "" {
		t.Error(diff)
	}
}
