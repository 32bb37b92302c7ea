package policyaudit

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/test/tarball"
	"github.com/fairlead-io/fairlead/validators/userpolicy/bundles"
)

// bundleServer is a bundle called org at a server; nil is a server in trouble.
func bundleServer(t *testing.T, bundle []byte) bundles.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if bundle == nil {
			http.Error(w, "gone", http.StatusBadGateway)
			return
		}
		_, _ = w.Write(bundle)
	}))
	t.Cleanup(server.Close)
	return bundles.Config{Name: "org", URL: server.URL}
}

// until makes rounds until something holds: bundles come when they come.
func until(t *testing.T, a *Auditor, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		round(t, a)
	}
}

// The rules of a bundle judge what exists as those of a ConfigMap do, with its settings.
func TestBundlesAreAudited(t *testing.T) {
	api := newAPI(t)
	api.settings("org", "enforcement: warn\nexemptions: [{namespaces: [bank]}]")
	api.put(pods, "{metadata: {name: a, namespace: shop}, spec: {containers: []}}")
	api.put(pods, "{metadata: {name: b, namespace: bank}, spec: {containers: []}}")
	a, _ := api.auditorOf(bundleServer(t, tarball.Of(t, map[string]string{"p.rego": owner})))
	until(t, a, "the bundle is audited", func() bool { return api.summary("org-settings") != nil })
	got := api.summary("org-settings")
	if diff := cmp.Diff([]string{"warn Pod shop/a owner: a has no owner"}, examples(got)); diff != "" || got.Scanned != 2 {
		t.Errorf("%+v %s", got, diff)
	}
	if n := a.metrics.values(t)["violations bundle/org warn"]; n != 1 {
		t.Errorf("the metric has %v", n)
	}
	// Other settings are another version, audited at the next look.
	api.settings("org", "")
	until(t, a, "it is audited with other settings", func() bool {
		got := api.summary("org-settings")
		return got != nil && got.ByAction["deny"] == 2
	})
}

// A bundle that needs no settings has no ConfigMap; what was found is in the metrics.
func TestABundleWithoutSettingsIsAudited(t *testing.T) {
	api := newAPI(t)
	api.put(pods, "{metadata: {name: a, namespace: shop}, spec: {containers: []}}")
	a, _ := api.auditorOf(bundleServer(t, tarball.Of(t, map[string]string{"p.rego": owner})))
	until(t, a, "the metric says so", func() bool { return a.metrics.values(t)["violations bundle/org deny"] == 1 })
	if len(api.patches) != 0 {
		t.Errorf("something was written: %v", api.patches)
	}
}

// The admission service may have a bundle that this process cannot get: that must not look as if all were well.
func TestABundleThatCannotBeHadIsTold(t *testing.T) {
	api := newAPI(t)
	api.settings("org", "")
	a, _ := api.auditorOf(bundleServer(t, nil))
	until(t, a, "the summary says so", func() bool { return api.summary("org-settings") != nil })
	got := api.summary("org-settings")
	if len(got.NotScanned) != 1 || !strings.Contains(got.NotScanned[0], "everything: asking for the bundle") || got.Scanned != 0 {
		t.Errorf("%+v", got)
	}
	if a.metrics.values(t)["incomplete bundle/org"] != 1 {
		t.Error("the metric says that all was audited")
	}
	// The text of the failure is another one each time, as that of a connection from another port is.
	a.keeper.Refuse("bundle/org", errors.New("asking for the bundle once more"))
	written := len(api.patches)
	round(t, a)
	if len(api.patches) != written {
		t.Errorf("it is told again: %v", api.patches[written:])
	}
}

// A set whose newest version has a mistake is audited by the version before, as the admission service has it in force, also by a
// leader that has not seen it.
func TestTheVersionInForceIsAudited(t *testing.T) {
	api := newAPI(t)
	api.put(pods, "{metadata: {name: a, namespace: shop}, spec: {containers: []}}")
	api.set("owner", map[string]string{"p.rego": "package broken("})
	api.put(where, fmt.Sprintf(`{"metadata":{"name":"owner.last-good","namespace":%q,"labels":{"fairlead.io/policy-last-good":"true"},`+
		`"ownerReferences":[{"name":"owner","uid":"u-owner"}]},"data":{"p.rego":%q}}`, own, owner))
	a, _ := api.auditor()
	round(t, a)
	got := api.summary("owner")
	if got == nil {
		t.Fatal("it is not audited")
	}
	if diff := cmp.Diff([]string{"deny Pod shop/a owner: a has no owner"}, examples(got)); diff != "" {
		t.Error(diff)
	}
}
