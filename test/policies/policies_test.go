package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
	"github.com/fairlead-io/fairlead/webhook/table"
)

func TestPoliciesOnAnAPIServer(t *testing.T) {
	w := newWorld(t, nil)
	t.Run("rules deny, warn and only note", func(t *testing.T) { actions(t, w.on(t)) })
	t.Run("exemptions", func(t *testing.T) { exemptions(t, w.on(t)) })
	t.Run("a mistake leaves what was", func(t *testing.T) { invalid(t, w.on(t)) })
	t.Run("what is never covered", func(t *testing.T) { neverCovered(t, w.on(t)) })
	t.Run("the inventory", func(t *testing.T) { inventory(t, w.on(t)) })
	t.Run("swaps under load", func(t *testing.T) { swaps(t, w.on(t)) })
	t.Run("rules that take too long", func(t *testing.T) { slow(t, w.on(t)) })
	t.Run("a set that goes", func(t *testing.T) { gone(t, w.on(t)) })
}

func (w *world) on(t *testing.T) *world {
	part := *w
	part.World = w.On(t)
	return &part
}

// put applies a set and waits until its status says that it is in force.
func (w *world) put(name string, files map[string]string) {
	w.Helper()
	before := w.observed(name)
	w.Must(set(name, files), "apply", "--server-side", "-f", "-")
	w.Until(name+" is in force", func() bool {
		status := w.status(name)
		return status.State == sources.Active && status.Observed != before
	})
}

func (w *world) observed(name string) string {
	if _, err := w.client.CoreV1().ConfigMaps("kruise-system").Get(w.Context(), name, metav1.GetOptions{}); err != nil {
		return ""
	}
	return w.status(name).Observed
}

const three = `
deny contains {"message": sprintf("colour %s is not ours", [object.data.colour]), "field": "data.colour", "rule": "colour"} if object.data.colour == data.parameters.forbidden

warn contains "grey is dull" if object.data.colour == "grey"

dryrun contains "green will be forbidden" if object.data.colour == "green"
`

func actions(t *testing.T, w *world) {
	w.put("colours", map[string]string{"colours.rego": module("colours", three), "settings.yaml": "parameters: {forbidden: red}\nfailurePolicy: Fail\n"})
	red := configMap("one", "{colour: red}")
	w.Until("red is refused", func() bool { return w.refused(red, "colour: data.colour: colour red is not ours") })
	w.Refused(red, apply, `admission webhook "colours.policies.fairlead.io" denied the request`, "the policies of colours forbid this")
	w.Refused(configMap("grey", "{colour: grey}"), warned, "Warning: colours: colours.warn: grey is dull")
	w.Must(configMap("grey", "{colour: grey}"), apply...)
	w.Must(configMap("green", "{colour: green}"), warned...)
	w.Until("all three decisions are logged", func() bool {
		seen := make(map[any]bool)
		for _, line := range w.log.decisions("colours") {
			seen[line["action"]] = line["decision"] != "" && line["revision"] == w.status("colours").Revision && line["user"] != ""
		}
		return seen["deny"] && seen["warn"] && seen["dryrun"]
	})
	// What the set may do is capped by its settings.
	w.put("colours", map[string]string{"colours.rego": module("colours", three), "settings.yaml": "parameters: {forbidden: red}\nenforcement: warn\n"})
	w.Refused(red, warned, "Warning: colours: colour: data.colour: colour red is not ours")
	w.Must(red, apply...)
	status := w.status("colours")
	if !slices.Equal(status.Entries, []string{"colours.policies.fairlead.io"}) || status.Rules != 3 {
		t.Errorf("status %+v", status)
	}
	w.Until("its event is there", func() bool { return w.event("colours", sources.ReasonActive, corev1.EventTypeNormal) })
	w.settles("colours")
}

// settles fails if a status is written again although nothing changed.
func (w *world) settles(name string) {
	w.Helper()
	version := func() string {
		object, err := w.client.CoreV1().ConfigMaps("kruise-system").Get(w.Context(), name, metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		return object.ResourceVersion
	}
	time.Sleep(3 * time.Second) // three rounds of the writer
	before := version()
	time.Sleep(3 * time.Second)
	if after := version(); after != before {
		w.Errorf("the status of %s is written without news", name)
	}
}

func (w *world) event(on, reason, kind string) bool {
	w.Helper()
	events, err := w.client.CoreV1().Events("kruise-system").List(w.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + on})
	return err == nil && slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Reason == reason && e.Type == kind })
}

// An exemption is granted in the release namespace alone: nothing that a tenant writes onto his object counts.
func exemptions(t *testing.T, w *world) {
	settings := "exemptions: [{serviceAccounts: ['shop:release'], rules: [locked.deny], reason: releases}, {users: [ada], until: '2020-01-01T00:00:00Z'}]\n"
	w.put("locked", map[string]string{"a.rego": module("locked", `deny contains "the shop is locked" if object.data.locked`), "settings.yaml": settings})
	locked := configMap("locked", `{locked: "yes"}`)
	w.Until("tenants are refused", func() bool { return w.refused(locked, "the shop is locked") })
	w.Must(locked, asRequester("shop:release", "apply", "--dry-run=server", "-f", "-")...)
	w.Refused(locked, asRequester("shop:other", apply...), "the shop is locked")
	w.Refused(locked, append(slices.Clone(apply), "--as=ada", "--as-group=system:masters"), "the shop is locked")
	granted := strings.Replace(locked, "namespace: shop", `namespace: shop, labels: {fairlead.io/exempt: "true"}, annotations: {fairlead.io/exemptions: "locked.deny"}`, 1)
	w.Refused(granted, apply, "the shop is locked")
	// Nor does a set in another namespace.
	w.Must(strings.Replace(set("tenant", map[string]string{"a.rego": module("tenant", `deny contains "tenants rule"`)}), "kruise-system", "shop", 1), apply...)
	w.Must(configMap("free", "{}"), apply...)
	w.Must("", "delete", "configmap", "tenant", "-n", "shop")
}

func invalid(t *testing.T, w *world) {
	good := map[string]string{"a.rego": module("brittle", `deny contains "no glass" if object.data.glass`)}
	w.put("brittle", good)
	glass := configMap("glass", `{glass: "yes"}`)
	w.Until("glass is refused", func() bool { return w.refused(glass, "no glass") })
	revision := w.status("brittle").Revision
	w.Must(set("brittle", map[string]string{"a.rego": module("brittle", `deny contains "x" if http.send({"url": "http://x", "method": "GET"})`)}), "apply", "--server-side", "-f", "-")
	w.Until("the status says what is wrong, and where", func() bool {
		status := w.status("brittle")
		return status.State == sources.Invalid && status.Revision == revision && strings.Contains(status.Message, "a.rego:10") &&
			strings.Contains(status.Message, "http.send is not there for policies")
	})
	if !w.refused(glass, "no glass") {
		t.Error("the version before is not in force any more")
	}
	w.Until("an event says so", func() bool { return w.event("brittle", sources.ReasonInvalid, corev1.EventTypeWarning) })
	w.settles("brittle")
	w.put("brittle", good)
	w.Must("", "delete", "configmap", "brittle", "-n", "kruise-system")
}

// A set that matches everything stops neither what keeps a cluster alive nor us.
func neverCovered(t *testing.T, w *world) {
	everything := "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: ['*'], resources: ['*/*'], operations: ['*']}]}\npackage all\n\ndeny contains \"nothing goes\"\n"
	w.Must("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: shop}\n", "apply", "-f", "-") // without one the API server lets no Pod come as far
	w.put("everything", map[string]string{"a.rego": everything, "settings.yaml": "failurePolicy: Fail\n"})
	probe := configMap("probe", "{}")
	w.Until("nothing goes", func() bool { return w.refused(probe, "nothing goes") })
	for name, manifest := range map[string]string{
		"a Lease":                "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: x, namespace: shop}\n",
		"an Event":               "apiVersion: v1\nkind: Event\nmetadata: {name: x, namespace: shop}\ninvolvedObject: {kind: Pod, name: x, namespace: shop}\n",
		"a new Event":            "apiVersion: events.k8s.io/v1\nkind: Event\nmetadata: {name: newer, namespace: shop}\nregarding: {kind: Pod, name: x, namespace: shop}\neventTime: '2026-01-01T00:00:00.000000Z'\naction: x\nreason: x\ntype: Normal\nreportingController: x.y/z\nreportingInstance: x\n",
		"a Node":                 "apiVersion: v1\nkind: Node\nmetadata: {name: x}\n",
		"a CSINode":              "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: x}\nspec: {drivers: []}\n",
		"an EndpointSlice":       "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: x, namespace: shop}\naddressType: IPv4\nendpoints: []\n",
		"an APIService":          "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.x.example.com}\nspec: {group: x.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 1, service: {name: x, namespace: shop}, insecureSkipTLSVerify: true}\n",
		"what is in kube-system": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: kube-system}\n",
		"what is in ours":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: kruise-system}\n",
	} {
		if out, err := w.Try(manifest, "create", "--dry-run=server", "-f", "-"); err != nil {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
	w.Must("apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nspec: {user: ada, resourceAttributes: {verb: get, resource: pods}}\n", "create", "-f", "-")
	w.Must("apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nspec: {token: x}\n", "create", "-f", "-")
	w.Must("", "create", "token", "default", "-n", "shop")
	w.Must(probe, asRequester("kruise-system:kruise-webhook", "apply", "--dry-run=server", "-f", "-")...)
	w.Must(probe, asRequester("kruise-system:kruise-manager", "apply", "--dry-run=server", "-f", "-")...)
	tenants := "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: shop}\nspec: {containers: [{name: x, image: x}]}\n"
	w.Refused(tenants, asRequester("kruise-system:kruise-manager", "create", "-f", "-"), "nothing goes")
	// By such a Pod our controllers see that admission works, before they create any.
	w.Must(tenants, asRequester("kruise-system:kruise-manager", "create", "--dry-run=server", "-f", "-")...)
	w.Must("", "delete", "configmap", "everything", "-n", "kruise-system")
	w.Until("its entry is gone", func() bool { return !slices.Contains(w.entries(), "everything.policies.fairlead.io") })
	w.Must(probe, apply...)
}

const service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n"

func inventory(t *testing.T, w *world) {
	rules := module("seen", `
deny contains sprintf("%d services know %s", [count(known), object.metadata.name]) if {
	object.data.service
	count(known) > 0
}

known contains name if some name, _ in data.inventory.namespace[input.request.namespace].v1.Service
`)
	w.put("seen", map[string]string{"a.rego": rules, "settings.yaml": "inventory: [{group: '', version: v1, resource: services}]\n"})
	w.Must(service, apply...)
	w.Until("the service is seen", func() bool { return w.refused(configMap("s", `{service: web}`), "1 services know s") })
	w.Must("", "delete", "service", "web", "-n", "shop")
	w.Until("it is gone", func() bool { return !w.refused(configMap("s", `{service: web}`), "services know") })
	// What may not be read is told, and the rules that need it are not asked.
	secrets := strings.ReplaceAll(rules, "package seen", "package seen\n\nwarn contains \"still here\" if object.data.here")
	w.Must(set("seen", map[string]string{"a.rego": secrets, "settings.yaml": "inventory: [{group: '', version: v1, resource: secrets}]\n"}), "apply", "--server-side", "--force-conflicts", "-f", "-")
	w.Until("the status says what is missing", func() bool {
		status := w.status("seen")
		return strings.Contains(status.Message, "the inventory lacks secrets") && strings.Contains(status.Message, "forbidden") && slices.Equal(status.NotLive, []string{"seen.deny"})
	})
	here := configMap("here", `{here: "yes", service: web}`)
	w.Refused(here, warned, "still here")
	w.Must(here, apply...)
}

// Sets that change ten times a second fail no request, and are not registered anew as long as they match the same.
func swaps(t *testing.T, w *world) {
	version := func(i int) map[string]string {
		return map[string]string{"a.rego": module("swapped", fmt.Sprintf("deny contains \"version %d\" if object.data.swapped\n", i)), "settings.yaml": "failurePolicy: Fail\n"}
	}
	w.put("swapped", version(0))
	w.Until("it is asked", func() bool { return w.refused(configMap("s", `{swapped: "yes"}`), "version 0") })
	registered, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(w.Context(), table.PoliciesName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	done := make(chan struct{})
	var swapped atomic.Int32
	go func() {
		defer close(done)
		for i := 1; ; i++ {
			select {
			case <-end:
				return
			case <-time.After(100 * time.Millisecond):
				object, err := w.client.CoreV1().ConfigMaps("kruise-system").Get(w.Context(), "swapped", metav1.GetOptions{})
				if err == nil {
					object.Data = version(i)
					if _, err = w.client.CoreV1().ConfigMaps("kruise-system").Update(w.Context(), object, metav1.UpdateOptions{}); err == nil {
						swapped.Add(1)
					}
				}
			}
		}
	}()
	good, bad := 0, 0
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "under-load"}, Data: map[string]string{"swapped": "yes"}}
		if good%2 == 0 {
			object.Data = nil
		}
		_, err := w.client.CoreV1().ConfigMaps("shop").Create(w.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch denied := err != nil && strings.Contains(err.Error(), "swapped.deny: version"); {
		case denied == (object.Data != nil) && (denied || err == nil):
			good++
		default:
			bad++
			t.Errorf("request %d: %v", good+bad, err)
		}
		if bad > 5 {
			break
		}
	}
	close(end)
	<-done
	if good < 50 || swapped.Load() < 20 || bad > 0 {
		t.Errorf("%d good requests and %d bad ones in %d swaps", good, bad, swapped.Load())
	}
	t.Logf("%d requests in %d swaps", good, swapped.Load())
	now, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(w.Context(), table.PoliciesName, metav1.GetOptions{})
	if err != nil || now.ResourceVersion != registered.ResourceVersion {
		t.Errorf("the configuration was written again: %v", err)
	}
}

// Rules that do not come to an end are cut off, and the set's failure policy decides.
func slow(t *testing.T, w *world) {
	endless := module("endless", "deny contains \"never\" if {\n\tobject.data.slow\n\tsome a in numbers.range(1, 1000000)\n\tsome b in numbers.range(1, 1000000)\n\ta * b == -1\n}\n\nwarn contains \"it is asked\" if object.data.asked\n")
	w.put("endless", map[string]string{"a.rego": endless, "settings.yaml": "timeoutSeconds: 1\n"})
	asked := configMap("asked", `{asked: "yes"}`)
	w.Until("it is asked", func() bool {
		_, err := w.Try(asked, warned...)
		return err != nil && strings.Contains(err.Error(), "it is asked")
	})
	start := time.Now()
	w.Must(configMap("slow", `{slow: "yes"}`), "create", "--dry-run=server", "-f", "-")
	if took := time.Since(start); took < time.Second/2 || took > 10*time.Second {
		t.Errorf("a request that the failure policy lets pass took %v", took)
	}
	w.put("endless", map[string]string{"a.rego": endless, "settings.yaml": "timeoutSeconds: 1\nfailurePolicy: Fail\n"})
	w.Until("the failure policy is registered", func() bool {
		_, err := w.Try(configMap("slow", `{slow: "yes"}`), "create", "--dry-run=server", "-f", "-")
		return err != nil && strings.Contains(err.Error(), `failed calling webhook "endless.policies.fairlead.io"`)
	})
	w.Must("", "delete", "configmap", "endless", "-n", "kruise-system")
}

func gone(t *testing.T, w *world) {
	for _, name := range []string{"colours", "locked", "seen", "swapped"} {
		w.Must("", "delete", "configmap", name, "-n", "kruise-system")
	}
	w.Until("the configuration is gone with the last set", func() bool {
		_, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(w.Context(), table.PoliciesName, metav1.GetOptions{})
		return err != nil
	})
	w.Must(configMap("swapped", `{swapped: "yes", locked: "yes"}`), apply...)
}

// A replica that starts while a set has a mistake serves the version before. Where that was not kept, it leaves requests to the
// failure policy, and the entry where it is.
func TestARestartWithAMistake(t *testing.T) {
	w := newWorld(t, nil)
	good := map[string]string{"a.rego": module("brittle", `deny contains "no glass" if object.data.glass`), "settings.yaml": "failurePolicy: Fail\n"}
	w.put("brittle", good)
	glass := configMap("glass", `{glass: "yes"}`)
	w.Until("glass is refused", func() bool { return w.refused(glass, "no glass") })
	bad := map[string]string{"a.rego": module("brittle", "deny contains x"), "settings.yaml": good["settings.yaml"]}
	w.Must(set("brittle", bad), "apply", "--server-side", "-f", "-")
	w.Until("the mistake is seen", func() bool { return w.status("brittle").State == sources.Invalid })
	before := w.status("brittle")
	w.stop()
	w.Must("", "annotate", "configmap", "brittle", "-n", "kruise-system", sources.StatusAnnotation+"-")
	w.serve(nil)
	w.Until("the new replica has written what became of it", func() bool { return w.status("brittle").State != "" })
	if after := w.status("brittle"); after.State != sources.Invalid || after.Revision != before.Revision || !slices.Equal(after.Entries, before.Entries) {
		t.Errorf("status %+v, and %+v before", after, before)
	}
	w.Refused(glass, apply, "no glass")
	w.Must(configMap("wood", "{}"), apply...)

	w.stop()
	w.Must("", "delete", "configmap", "brittle.last-good", "-n", "kruise-system")
	w.serve(nil)
	w.Until("the next one has nothing in force", func() bool { return w.status("brittle").Revision == "" })
	if after := w.status("brittle"); !slices.Equal(after.Entries, before.Entries) {
		t.Errorf("status %+v, and %+v before", after, before)
	}
	w.Refused(configMap("wood", "{}"), apply, `failed calling webhook "brittle.policies.fairlead.io"`,
		"the policies of brittle cannot be used", "correct ConfigMap kruise-system/brittle, or delete it", "a.rego:")
	w.put("brittle", good)
	w.Must(configMap("wood", "{}"), apply...)
	w.Refused(glass, apply, "no glass")
	w.Until("the version in force is kept", func() bool {
		copied, err := w.client.CoreV1().ConfigMaps("kruise-system").Get(w.Context(), "brittle.last-good", metav1.GetOptions{})
		return err == nil && maps.Equal(copied.Data, good) && copied.OwnerReferences[0].Name == "brittle"
	})
}
