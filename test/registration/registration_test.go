// Package registration tests on a real API server what only one can answer: ownership of fields, preconditions, watches
// and races.
package registration

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/webhook/table"
)

func TestRegistration(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	for name, test := range map[string]func(*world){
		"first registration, then silence":     firstRegistration,
		"changes by others are repaired":       drift,
		"taken over from another manager":      takeOver,
		"not taken over before we serve":       notYetTakenOver,
		"a new webhook waits for old replicas": rollout,
		"removed with the anchor":              anchorDeleted,
		"removed with the anchor, leader gone": anchorDeletedWithoutLeader,
		"nothing without an anchor":            withoutAnchor,
		"removed with the release namespace":   namespaceDeleted,
		"a renewed namespace is followed":      namespaceRenewed,
		"a replaced anchor is followed":        anchorReplaced,
		"a deletion during an apply stands":    deletedDuringApply,
		"anchor deleted during creation":       anchorDeletedDuringCreation,
		"nothing is written after the signal":  stopped,
		"the Lease passes on at once":          leaseHandedOver,
		"the hook's anchor is none":            hookAnchor,
		"replicas race for the CA":             certificates,
		"a new CA when everything was lost":    everythingLost,
	} {
		t.Run(name, func(t *testing.T) { test(newWorld(t, c)) })
	}
}

func firstRegistration(w *world) {
	w.anchor()
	r := w.start("one", true)
	time.Sleep(time.Second)
	if got := w.registered(); got != "nothing" {
		w.Fatalf("registered with no ready replica: %s", got)
	}
	w.ready("a", "mpod.kb.io", "msidecarset.kb.io")
	w.untilRegistered(both)
	live := w.live()
	anchor, err := w.validating.Get(w.Context(), table.AnchorName, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	if owners := live.OwnerReferences; len(owners) != 1 || owners[0].UID != anchor.UID {
		w.Errorf("owners %v, want the anchor", owners)
	}
	want := w.config.Render(w.entries, true, table.Target{CABundle: w.source.Bundle()})
	if diff := cmp.Diff(want.Webhooks, live.Webhooks); diff != "" {
		w.Errorf("the API server stores something else than was rendered:\n%s", diff)
	}
	if live.ManagedFields[0].Manager != "fairlead-registration" || live.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
		w.Errorf("managed by %s through %s", live.ManagedFields[0].Manager, live.ManagedFields[0].Operation)
	}
	w.until("the gauge is set", func() bool { return r.count(w.T, "fairlead_webhook_configuration_registered") == 1 })
	if _, err := w.validating.Get(w.Context(), table.ValidatingName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("a validating configuration without entries: %v", err)
	}
	time.Sleep(5 * time.Second)
	if got := r.writes.Load(); got != 1 {
		w.Errorf("%d writes, want the first one only", got)
	}
	if got := r.count(w.T, "fairlead_webhook_configuration_drift_total"); got != 0 {
		w.Errorf("%v times drift, nobody changed anything", got)
	}
}

// registeredWorld has an anchor, a ready replica and a registrar that has registered.
func registeredWorld(w *world) *running {
	w.Helper()
	w.anchor()
	w.ready("a", "mpod.kb.io", "msidecarset.kb.io")
	r := w.start("one", true)
	w.untilRegistered(both)
	return r
}

func drift(w *world) {
	r := registeredWorld(w)
	time.Sleep(time.Second) // until the registrar rests: what comes before is part of the registration
	wanted := w.live()
	for i, change := range []struct {
		name string
		do   func(*admissionv1.MutatingWebhookConfiguration)
	}{
		{"failure policy", func(c *admissionv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].FailurePolicy = ptr.To(admissionv1.Ignore)
		}},
		{"CA bundle", func(c *admissionv1.MutatingWebhookConfiguration) { c.Webhooks[0].ClientConfig.CABundle = nil }},
		{"rules", func(c *admissionv1.MutatingWebhookConfiguration) { c.Webhooks[0].Rules = nil }},
		{"selector", func(c *admissionv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"never": "there"}}
		}},
		{"match condition", func(c *admissionv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].MatchConditions = []admissionv1.MatchCondition{{Name: "never", Expression: "false"}}
		}},
		{"URL", func(c *admissionv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig = admissionv1.WebhookClientConfig{URL: ptr.To("https://elsewhere.example/")}
		}},
		{"entry removed", func(c *admissionv1.MutatingWebhookConfiguration) { c.Webhooks = c.Webhooks[1:] }},
		{"entry added", func(c *admissionv1.MutatingWebhookConfiguration) {
			extra := *c.Webhooks[0].DeepCopy()
			extra.Name = "extra.kb.io"
			c.Webhooks = append(c.Webhooks, extra)
		}},
		{"owner removed", func(c *admissionv1.MutatingWebhookConfiguration) { c.OwnerReferences = nil }},
	} {
		live := w.live()
		change.do(live)
		if _, err := w.mutating.Update(w.Context(), live, metav1.UpdateOptions{FieldManager: "someone"}); err != nil {
			w.Fatalf("%s: %v", change.name, err)
		}
		took := w.until(change.name+" is repaired", func() bool {
			live := w.live()
			return cmp.Diff(wanted.Webhooks, live.Webhooks) == "" && cmp.Diff(wanted.OwnerReferences, live.OwnerReferences) == ""
		})
		if took > 5*time.Second {
			w.Errorf("%s: repaired after %v", change.name, took)
		}
		w.until("the repair is counted: "+change.name, func() bool {
			return r.count(w.T, "fairlead_webhook_configuration_drift_total") == float64(i+1)
		})
		time.Sleep(time.Second)
	}
	if err := w.mutating.Delete(w.Context(), table.MutatingName, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.untilRegistered(both)
}

// old is a configuration as OpenKruise leaves it: made by another manager, leading to another Service.
func (w *world) old(names ...string) {
	w.Helper()
	configuration := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: table.MutatingName, Annotations: map[string]string{"template": "[]"},
	}}
	for _, name := range names {
		configuration.Webhooks = append(configuration.Webhooks, admissionv1.MutatingWebhook{
			Name: name, SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1", "v1beta1"},
			TimeoutSeconds: ptr.To[int32](30),
			ClientConfig: admissionv1.WebhookClientConfig{
				CABundle: w.source.Bundle(),
				Service:  &admissionv1.ServiceReference{Namespace: namespace, Name: "kruise-webhook-service", Path: ptr.To("/" + name)},
			},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		})
	}
	if _, err := w.mutating.Create(w.Context(), configuration, metav1.CreateOptions{FieldManager: "kubectl-create"}); err != nil {
		w.Fatal(err)
	}
	validating := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: table.ValidatingName}}
	if _, err := w.validating.Create(w.Context(), validating, metav1.CreateOptions{FieldManager: "kubectl-create"}); err != nil {
		w.Fatal(err)
	}
}

func takeOver(w *world) {
	w.old("mcloneset.kb.io", "mpod.kb.io", "mdaemonset.kb.io")
	before := w.live().UID
	registeredWorld(w)
	live := w.live()
	if live.UID != before {
		w.Error("the object was made anew")
	}
	want := w.config.Render(w.entries, true, table.Target{CABundle: w.source.Bundle()})
	if diff := cmp.Diff(want.Webhooks, live.Webhooks); diff != "" {
		w.Errorf("webhooks:\n%s", diff)
	}
	if _, ok := live.Annotations["template"]; !ok {
		w.Error("OpenKruise's annotation is gone; going back would miss it")
	}
	w.until("the validating one, which has no entry, is gone", func() bool {
		_, err := w.validating.Get(w.Context(), table.ValidatingName, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	w.dropAnchor()
	w.untilRegistered("nothing")
}

func notYetTakenOver(w *world) {
	w.old("mcloneset.kb.io", "mpod.kb.io")
	before := w.live()
	w.anchor()
	r := w.start("one", true)
	time.Sleep(6 * time.Second) // a Lease is had within 2 s, a round takes less
	if diff := cmp.Diff(before, w.live()); diff != "" || r.writes.Load() > 0 {
		w.Errorf("%d writes:\n%s", r.writes.Load(), diff)
	}
	w.dropAnchor() // an installation that is given up leaves OpenKruise's as it was
	time.Sleep(2 * time.Second)
	if diff := cmp.Diff(before, w.live()); diff != "" {
		w.Errorf("after the anchor went:\n%s", diff)
	}
}

func rollout(w *world) {
	w.anchor()
	w.ready("new", "mpod.kb.io", "msidecarset.kb.io")
	w.ready("old", "mpod.kb.io")
	w.start("one", true)
	w.untilRegistered("mpod.kb.io")
	time.Sleep(3 * time.Second)
	w.untilRegistered("mpod.kb.io")
	if err := w.client.DiscoveryV1().EndpointSlices(namespace).Delete(w.Context(), "old", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.untilRegistered(both)
	w.ready("old", "mpod.kb.io") // rolled back half-way: what is registered stays
	time.Sleep(3 * time.Second)
	w.untilRegistered(both)
}

func anchorDeleted(w *world) {
	r := registeredWorld(w)
	other := w.start("two", true)
	w.dropAnchor()
	if took := w.untilRegistered("nothing"); took > 2*time.Second {
		w.Errorf("removed after %v", took)
	}
	time.Sleep(3 * time.Second)
	if got := w.registered(); got != "nothing" {
		w.Errorf("registered again: %s", got)
	}
	w.until("the gauges are cleared", func() bool {
		return r.count(w.T, "fairlead_webhook_configuration_registered")+other.count(w.T, "fairlead_webhook_configuration_registered") == 0
	})
}

func anchorDeletedWithoutLeader(w *world) {
	r := registeredWorld(w)
	r.stop() // told to stop, it drains; nobody has the Lease
	w.dropAnchor()
	if took := w.untilRegistered("nothing"); took > 2*time.Second {
		w.Errorf("removed after %v", took)
	}
}

func withoutAnchor(w *world) {
	w.ready("a", "mpod.kb.io", "msidecarset.kb.io")
	r := w.start("one", true)
	time.Sleep(5 * time.Second)
	if got := w.registered(); got != "nothing" || r.writes.Load() > 0 {
		w.Errorf("registered %s with %d writes", got, r.writes.Load())
	}
	w.anchor()
	w.untilRegistered(both)
}

func anchorReplaced(w *world) {
	registeredWorld(w)
	w.dropAnchor()
	w.anchor()
	w.until("owned by the new anchor", func() bool {
		live := w.live()
		anchor, err := w.validating.Get(w.Context(), table.AnchorName, metav1.GetOptions{})
		return err == nil && live != nil && len(live.OwnerReferences) == 1 && live.OwnerReferences[0].UID == anchor.UID
	})
	w.untilRegistered(both)
}

// namespaceDeleted deletes the release namespace, which takes the service with it and leaves the anchor: what is
// registered must go while somebody is there to do it.
func namespaceDeleted(w *world) {
	r := registeredWorld(w)
	other := w.start("two", true)
	w.Cleanup(w.renewNamespace)
	if err := w.client.CoreV1().Namespaces().Delete(w.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	// The controller of namespaces leaves everybody 5 s before it deletes what is in one.
	if took := w.untilRegistered("nothing"); took > 2*time.Second {
		w.Errorf("removed after %v", took)
	}
	time.Sleep(3 * time.Second)
	if got := w.registered(); got != "nothing" {
		w.Errorf("registered again: %s", got)
	}
	if _, err := w.validating.Get(w.Context(), table.AnchorName, metav1.GetOptions{}); err != nil {
		w.Errorf("the anchor is for whoever repairs the release: %v", err)
	}
	w.until("the gauges are cleared", func() bool {
		return r.count(w.T, "fairlead_webhook_configuration_registered")+other.count(w.T, "fairlead_webhook_configuration_registered") == 0
	})
}

// namespaceRenewed deletes the release namespace and makes it anew, as a repair of the release does.
func namespaceRenewed(w *world) {
	registeredWorld(w)
	if err := w.client.CoreV1().Namespaces().Delete(w.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.untilRegistered("nothing")
	w.renewNamespace()
	w.ready("b", "mpod.kb.io", "msidecarset.kb.io")
	w.untilRegistered(both)
}

func hookAnchor(w *world) {
	registeredWorld(w)
	anchor, err := w.validating.Get(w.Context(), table.AnchorName, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	anchor.Annotations = map[string]string{"helm.sh/hook": "pre-delete"}
	if _, err := w.validating.Update(w.Context(), anchor, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.untilRegistered("nothing")
}

// Just before our apply arrives, the configuration is deleted, as an uninstallation does: it must not come back.
func deletedDuringApply(w *world) {
	w.anchor()
	w.ready("a", "mpod.kb.io", "msidecarset.kb.io")
	r := w.start("one", false) // without a guard to clean up
	w.untilRegistered(both)
	var meeting, met atomic.Bool
	before := func(request *http.Request) {
		if request.Method == http.MethodPatch && meeting.CompareAndSwap(false, true) {
			w.dropAnchor()
			if err := w.mutating.Delete(context.Background(), table.MutatingName, metav1.DeleteOptions{}); err != nil {
				w.Error(err)
			}
			met.Store(true)
		}
	}
	r.before.Store(&before)
	live := w.live()
	live.Webhooks[0].TimeoutSeconds = ptr.To[int32](29)
	if _, err := w.mutating.Update(w.Context(), live, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.until("the registrar has met the deletion", met.Load) // at its next resync
	for range 20 {
		if got := w.registered(); got != "nothing" {
			w.Fatalf("a deleted configuration came back: %s", got)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// The anchor goes between the read that found it and the creation, the signal to stop comes too, and no guard runs: the
// creation is undone.
func anchorDeletedDuringCreation(w *world) {
	w.anchor()
	w.ready("a", "mpod.kb.io", "msidecarset.kb.io")
	var created, undone atomic.Bool
	r := w.start("one", false)
	before := func(request *http.Request) {
		switch {
		case request.Method == http.MethodPatch && created.CompareAndSwap(false, true):
			w.dropAnchor()
			r.stop()
		case request.Method == http.MethodDelete && strings.HasSuffix(request.URL.Path, table.MutatingName):
			undone.Store(true)
		}
	}
	r.before.Store(&before)
	w.until("created and undone", func() bool { return created.Load() && undone.Load() && w.live() == nil })
}

func stopped(w *world) {
	r := registeredWorld(w)
	r.stop()
	time.Sleep(500 * time.Millisecond)
	writes := r.writes.Load()
	if err := w.mutating.Delete(w.Context(), table.MutatingName, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if got := r.writes.Load(); got != writes {
		w.Errorf("%d writes after the signal", got-writes)
	}
}

func leaseHandedOver(w *world) {
	r := registeredWorld(w)
	other := w.start("two", true)
	time.Sleep(3 * time.Second)
	if other.writes.Load() > 0 {
		w.Error("a replica without the Lease writes")
	}
	r.stop()
	if err := w.mutating.Delete(w.Context(), table.MutatingName, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	if took := w.untilRegistered(both); took > 10*time.Second {
		w.Errorf("taken over after %v: the Lease was not given up", took)
	}
}
