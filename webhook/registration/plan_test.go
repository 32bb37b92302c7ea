package registration

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// testTable has two mutating entries and no validating one.
func testTable() []table.Entry {
	rule := func(resource string) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{"CREATE"},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}}
	}
	return []table.Entry{
		{Name: "mpod.kb.io", Mutating: true, Path: "/mutate-pod", Rules: rule("pods")},
		{Name: "mnode.kb.io", Mutating: true, Path: "/mutate-node", Rules: rule("nodes")},
	}
}

func testConfig(t *testing.T) table.Config {
	t.Helper()
	config, err := table.Config{Labels: map[string]string{"app": "kruise"}}.Complete(testTable())
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func anchorRef(uid types.UID) *metav1.OwnerReference {
	return &metav1.OwnerReference{
		APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration", Name: "kruise-anchor", UID: uid,
	}
}

// edit changes what would be registered into what is found.
type edit func(*table.Configuration)

func without(name string) edit {
	return func(c *table.Configuration) {
		c.Webhooks = slices.DeleteFunc(c.Webhooks, func(w admissionv1.MutatingWebhook) bool { return w.Name == name })
	}
}

// elsewhere makes an entry lead to OpenKruise's Service, adding it if need be.
func elsewhere(name string) edit {
	return func(c *table.Configuration) {
		if c.Entry(name) == nil {
			c.Webhooks = append(c.Webhooks, admissionv1.MutatingWebhook{Name: name})
		}
		c.Entry(name).ClientConfig = admissionv1.WebhookClientConfig{
			Service: &admissionv1.ServiceReference{Namespace: "kruise-system", Name: "kruise-webhook-service", Path: ptr.To("/old")},
		}
	}
}

func added(name string) edit {
	return func(c *table.Configuration) {
		extra := *c.Webhooks[0].DeepCopy()
		extra.Name = name
		c.Webhooks = append(c.Webhooks, extra)
	}
}

func changed(change func(*admissionv1.MutatingWebhook)) edit {
	return func(c *table.Configuration) { change(&c.Webhooks[0]) }
}

// at has the first entry at another path.
func at(path string) edit {
	return changed(func(w *admissionv1.MutatingWebhook) { w.ClientConfig.Service.Path = &path })
}

// moving are two replicas of which so many serve the first entry at its new path, and both the rest.
func moving(moved int) fleet {
	return fleet{ready: 2, serving: map[served]int{
		{"mpod.kb.io", "/mutate-pod"}: moved, {"mpod.kb.io", "/pods"}: 2 - moved, {"mnode.kb.io", "/mutate-node"}: 2,
	}}
}

func unowned(c *table.Configuration) { c.OwnerReferences = nil }

// found renders what would be registered, edits it, and gives it the identity of a stored object.
func found(t *testing.T, mutating bool, edits ...edit) *table.Configuration {
	t.Helper()
	live := testConfig(t).Empty(table.NameOf(mutating), anchorRef("a1"))
	if mutating {
		live = testConfig(t).Render(testTable(), true, table.Target{CABundle: []byte("CA"), Owner: anchorRef("a1")})
	}
	for _, edit := range edits {
		edit(live)
	}
	live.UID, live.ResourceVersion = "u1", "7"
	return live
}

var (
	all  = fleet{ready: 2, serving: map[served]int{{"mpod.kb.io", "/mutate-pod"}: 2, {"mnode.kb.io", "/mutate-node"}: 2}}
	old  = fleet{ready: 2, serving: map[served]int{{"mpod.kb.io", "/mutate-pod"}: 2, {"mnode.kb.io", "/mutate-node"}: 1}}
	none = fleet{}
)

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		anchor     string // its uid; empty for none
		validating bool
		live       *table.Configuration
		replicas   fleet
		noBundle   bool
		injected   bool
		want       verb
		webhooks   []string // of what is written
		waiting    []string
		why        string // one of the differences
	}{
		"first registration":               {anchor: "a1", replicas: all, want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mpod.kb.io is missing"},
		"nobody is ready":                  {anchor: "a1", replicas: none, want: leave, waiting: []string{"mpod.kb.io", "mnode.kb.io"}},
		"an old replica is still there":    {anchor: "a1", replicas: old, want: apply, webhooks: []string{"mpod.kb.io"}, waiting: []string{"mnode.kb.io"}},
		"no CA yet":                        {anchor: "a1", replicas: all, noBundle: true, want: leave},
		"CA injected by another":           {anchor: "a1", replicas: all, injected: true, want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}},
		"no anchor, nothing there":         {replicas: all, want: leave},
		"no anchor, ours":                  {live: found(t, true), replicas: all, want: remove, why: "the anchor is gone"},
		"no anchor, ours, no CA":           {live: found(t, true), noBundle: true, want: remove},
		"no anchor, of OpenKruise":         {live: found(t, true, unowned), replicas: all, want: leave},
		"as it should be":                  {anchor: "a1", live: found(t, true), replicas: all, want: leave},
		"as it should be, not asked":       {anchor: "a1", live: found(t, true), replicas: none, want: leave},
		"a new entry is served by all":     {anchor: "a1", live: found(t, true, without("mnode.kb.io")), replicas: all, want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mnode.kb.io is missing"},
		"a new entry is not served by all": {anchor: "a1", live: found(t, true, without("mnode.kb.io")), replicas: old, want: leave, waiting: []string{"mnode.kb.io"}},
		"an old entry, not served by all":  {anchor: "a1", live: found(t, true), replicas: old, want: leave},
		"our entry is no longer in table":  {anchor: "a1", live: found(t, true, added("mgone.kb.io")), replicas: none, want: rewrite, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mgone.kb.io is not in the table"},
		"timeout changed":                  {anchor: "a1", live: found(t, true, changed(func(w *admissionv1.MutatingWebhook) { w.TimeoutSeconds = ptr.To[int32](30) })), want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mpod.kb.io: TimeoutSeconds"},
		"CA bundle changed":                {anchor: "a1", live: found(t, true, changed(func(w *admissionv1.MutatingWebhook) { w.ClientConfig.CABundle = []byte("other") })), want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mpod.kb.io: ClientConfig"},
		"CA bundle is another's to change": {anchor: "a1", injected: true, live: found(t, true), want: leave},
		"the other's CA is not there yet":  {anchor: "a1", injected: true, live: found(t, true, changed(func(w *admissionv1.MutatingWebhook) { w.ClientConfig.CABundle = nil })), want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mpod.kb.io: ClientConfig"},
		"there is nothing to be injected":  {anchor: "a1", replicas: all, noBundle: true, injected: true, want: leave},
		"path changed, nobody serves it":   {anchor: "a1", live: found(t, true, changed(func(w *admissionv1.MutatingWebhook) { w.ClientConfig.Service.Path = ptr.To("/x") })), want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}},
		"path changed, all serve it":       {anchor: "a1", replicas: moving(2), live: found(t, true, at("/pods")), want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mpod.kb.io: ClientConfig"},
		"path changed, not all serve it":   {anchor: "a1", replicas: moving(1), live: found(t, true, at("/pods")), want: leave, waiting: []string{"mpod.kb.io"}},
		"a namespace let out": {anchor: "a1", live: found(t, true, changed(func(w *admissionv1.MutatingWebhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}
		})), want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mpod.kb.io: NamespaceSelector"},
		"a match condition added": {anchor: "a1", live: found(t, true, changed(func(w *admissionv1.MutatingWebhook) {
			w.MatchConditions = []admissionv1.MatchCondition{{Name: "never", Expression: "false"}}
		})), want: rewrite, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mpod.kb.io has match condition never"},
		"a label removed":                   {anchor: "a1", live: found(t, true, func(c *table.Configuration) { c.Labels = nil }), want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "label app"},
		"a label added":                     {anchor: "a1", live: found(t, true, func(c *table.Configuration) { c.Labels["x"] = "y" }), want: leave},
		"the owner removed":                 {anchor: "a1", live: found(t, true, unowned), want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "owner kruise-anchor"},
		"the anchor was replaced":           {anchor: "a2", live: found(t, true), want: rewrite, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "owner kruise-anchor with uid a1 is gone"},
		"take-over":                         {anchor: "a1", live: found(t, true, unowned, elsewhere("mpod.kb.io"), without("mnode.kb.io"), elsewhere("mcloneset.kb.io")), replicas: all, want: rewrite, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, why: "webhook mcloneset.kb.io is not in the table"},
		"take-over of known names":          {anchor: "a1", live: found(t, true, unowned, elsewhere("mpod.kb.io"), elsewhere("mnode.kb.io")), replicas: all, want: apply, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}},
		"take-over before anyone is ready":  {anchor: "a1", live: found(t, true, unowned, elsewhere("mpod.kb.io"), elsewhere("mnode.kb.io"), elsewhere("mcloneset.kb.io")), replicas: none, want: leave, waiting: []string{"mpod.kb.io", "mnode.kb.io"}},
		"take-over while an old is there":   {anchor: "a1", live: found(t, true, unowned, elsewhere("mpod.kb.io"), elsewhere("mnode.kb.io"), elsewhere("mcloneset.kb.io")), replicas: old, want: rewrite, webhooks: []string{"mpod.kb.io", "mnode.kb.io"}, waiting: []string{"mnode.kb.io"}},
		"no validating entries":             {anchor: "a1", validating: true, replicas: all, want: leave},
		"validating no longer needed":       {anchor: "a1", validating: true, live: found(t, false), replicas: none, want: remove},
		"validating of OpenKruise":          {anchor: "a1", validating: true, live: found(t, false, unowned, elsewhere("vpod.kb.io")), replicas: all, want: remove},
		"validating of OpenKruise, not yet": {anchor: "a1", validating: true, live: found(t, false, unowned, elsewhere("vpod.kb.io")), replicas: none, want: leave},
		"validating of OpenKruise, empty":   {anchor: "a1", validating: true, live: found(t, false, unowned), replicas: none, want: leave},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted{config: testConfig(t), entries: testTable(), bundle: []byte("CA"), injected: c.injected}
			if c.noBundle {
				w.bundle = nil
			}
			s := seen{live: c.live, replicas: c.replicas}
			if c.anchor != "" {
				s.anchor = anchorRef(types.UID(c.anchor))
			}
			before := snapshot(s.live)
			got := plan(w, of(c.validating), s)
			if got.verb != c.want {
				t.Fatalf("%s, want %s; differences %q", got.verb, c.want, got.differences)
			}
			if diff := cmp.Diff(c.waiting, got.waiting); diff != "" {
				t.Errorf("waiting (-want +got):\n%s", diff)
			}
			if c.why != "" && !slices.Contains(got.differences, c.why) {
				t.Errorf("differences %q, want %q among them", got.differences, c.why)
			}
			if diff := cmp.Diff(c.webhooks, names(got.configuration)); diff != "" {
				t.Errorf("webhooks written (-want +got):\n%s", diff)
			}
			if c.live != nil && got.verb != leave && got.uid != "u1" {
				t.Errorf("acts on uid %q, read u1", got.uid)
			}
			if diff := cmp.Diff(before, snapshot(s.live)); diff != "" {
				t.Errorf("the live configuration was changed:\n%s", diff)
			}
		})
	}
}

// What a rewrite keeps is as it was, and what it writes is the table's.
func TestRewriteKeepsWhatWaitsAndOtherOwners(t *testing.T) {
	live := found(t, true, elsewhere("mnode.kb.io"), added("mgone.kb.io"), func(c *table.Configuration) {
		c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{Kind: "Namespace", Name: "other", UID: "o1"})
		c.Webhooks[0].ClientConfig.CABundle = []byte("injected")
	})
	w := wanted{config: testConfig(t), entries: testTable(), injected: true, bundle: []byte("injected")}
	got := plan(w, mutating, seen{anchor: anchorRef("a2"), live: live, replicas: old}).configuration
	if diff := cmp.Diff(*live.Entry("mnode.kb.io"), *got.Entry("mnode.kb.io")); diff != "" {
		t.Errorf("the entry that waits changed:\n%s", diff)
	}
	if got := string(got.Entry("mpod.kb.io").ClientConfig.CABundle); got != "injected" {
		t.Errorf("the injected CA bundle became %q", got)
	}
	var owners []string
	for _, owner := range got.OwnerReferences {
		owners = append(owners, string(owner.UID))
	}
	if diff := cmp.Diff([]string{"o1", "a2"}, owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// An application in injected mode must not own caBundle, or server-side apply would fight the injector.
func TestApplyLeavesAnInjectedBundleOut(t *testing.T) {
	live := found(t, true, without("mnode.kb.io"))
	w := wanted{config: testConfig(t), entries: testTable(), injected: true, bundle: []byte("CA")}
	got := plan(w, mutating, seen{anchor: anchorRef("a1"), live: live, replicas: all})
	if bundle := got.configuration.Entry("mpod.kb.io").ClientConfig.CABundle; got.verb != apply || bundle != nil {
		t.Errorf("%s with caBundle %q", got.verb, bundle)
	}
	// A webhook that is new must be trusted at once; the field is given up after that.
	if bundle := got.configuration.Entry("mnode.kb.io").ClientConfig.CABundle; string(bundle) != "CA" {
		t.Errorf("the new webhook has caBundle %q", bundle)
	}
}

func TestReplicasAreAskedOnlyWhenSomethingDependsOnThem(t *testing.T) {
	for name, c := range map[string]struct {
		validating bool
		live       *table.Configuration
		want       bool
	}{
		"nothing there":                {live: nil, want: true},
		"as it should be":              {live: found(t, true), want: false},
		"drift":                        {live: found(t, true, changed(func(w *admissionv1.MutatingWebhook) { w.TimeoutSeconds = nil })), want: false},
		"one is missing":               {live: found(t, true, without("mpod.kb.io")), want: true},
		"one leads elsewhere":          {live: found(t, true, elsewhere("mpod.kb.io")), want: true},
		"one of OpenKruise":            {live: found(t, true, elsewhere("mcloneset.kb.io")), want: true},
		"one is at another path":       {live: found(t, true, at("/pods")), want: true},
		"one of ours is too many":      {live: found(t, true, added("mgone.kb.io")), want: false},
		"none wanted, none there":      {validating: true, want: false},
		"none wanted, OpenKruise's is": {validating: true, live: found(t, false, elsewhere("vpod.kb.io")), want: true},
	} {
		w := wanted{config: testConfig(t), entries: testTable(), bundle: []byte("CA")}
		if got := needsFleet(w, of(c.validating), c.live); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDifferencesNameFields(t *testing.T) {
	live := found(t, true, changed(func(w *admissionv1.MutatingWebhook) {
		w.FailurePolicy, w.Rules = ptr.To(admissionv1.Ignore), nil
	}))
	w := wanted{config: testConfig(t), entries: testTable(), bundle: []byte("CA")}
	got := plan(w, mutating, seen{anchor: anchorRef("a1"), live: live}).differences
	if want := "webhook mpod.kb.io: Rules, webhook mpod.kb.io: FailurePolicy"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func snapshot(c *table.Configuration) runtime.Object {
	if c == nil {
		return nil
	}
	return c.Object().DeepCopyObject()
}

func names(c *table.Configuration) []string {
	if c == nil {
		return nil
	}
	var all []string
	for _, webhook := range c.Webhooks {
		all = append(all, webhook.Name)
	}
	return all
}
