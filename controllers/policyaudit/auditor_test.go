package policyaudit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

const (
	pods      = "/api/v1/pods"
	clonesets = "/apis/apps.kruise.io/v1beta1/clonesets"
	// owner asks that Pods have an owner, and warns of those with many containers.
	owner = `# METADATA
# custom:
#   match: [{apiGroups: [""], resources: [pods]}]
package owner

deny contains {"message": sprintf("%s has no owner", [input.request.name]), "field": "metadata.labels", "rule": "owner"} if not input.request.object.metadata.labels.owner

warn contains "too many" if count(input.request.object.spec.containers) > 2
`
	// who tells what a rule is told.
	who = `# METADATA
# custom:
#   match: [{apiGroups: [""], resources: ["*"]}, {apiGroups: [apps.kruise.io], apiVersions: [v1alpha1, v1beta1], resources: [clonesets]}]
package who

dryrun contains sprintf("%s %s %s by %s of %v: %s/%s %v", [input.request.operation, input.request.namespace, input.request.name, input.request.userInfo.username, input.request.userInfo.groups, input.request.object.apiVersion, input.request.object.kind, input.request.oldObject])
`
)

func examples(s *Summary) (all []string) {
	for _, e := range s.First {
		all = append(all, fmt.Sprintf("%s %s %s/%s %s: %s", e.Action, e.Kind, e.Namespace, e.Name, e.Rule, e.Message))
	}
	return all
}

func round(t *testing.T, a *Auditor) {
	t.Helper()
	if err := a.round(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAnAuditFinds(t *testing.T) {
	api := newAPI(t)
	api.set("owner", map[string]string{"p.rego": owner})
	api.put(pods, "{metadata: {name: a, namespace: shop}, spec: {containers: []}}")
	api.put(pods, "{metadata: {name: b, namespace: shop, labels: {owner: x}}, spec: {containers: [{}, {}, {}]}}")
	api.put(pods, "{metadata: {name: c, namespace: shop, labels: {owner: x}}, spec: {containers: [{}]}}")
	api.put(pods, `{metadata: {name: gone, namespace: shop, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {}}`)
	api.put(pods, "{metadata: {name: sys, namespace: kube-system}, spec: {}}")
	api.put(pods, "{metadata: {name: ours, namespace: kruise-system}, spec: {}}")
	a, _ := api.auditor()
	round(t, a)
	want := &Summary{
		Time: start, Revision: a.sets["owner"].set.Revision(), Scanned: 3, Violations: 2, ByAction: map[string]int{"deny": 1, "warn": 1},
		First: []Example{
			{Kind: "Pod", Namespace: "shop", Name: "a", Rule: "owner", Action: "deny", Field: "metadata.labels", Message: "a has no owner"},
			{Kind: "Pod", Namespace: "shop", Name: "b", Rule: "owner.warn", Action: "warn", Message: "too many"},
		},
	}
	if diff := cmp.Diff(want, api.summary("owner")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{where + "?labelSelector=fairlead.io%2Fpolicy%3Dtrue%2C%21fairlead.io%2Fpolicy-bundle&limit=50", pods + "?limit=50"}, api.lists); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	wantMetrics := map[string]float64{
		"violations owner deny": 1, "violations owner warn": 1, "violations owner dryrun": 0, "objects owner": 3, "failed_objects owner": 0, "incomplete owner": 0,
		"last_run_timestamp_seconds": float64(start.Unix()), "duration_seconds": 0, "interval_seconds": 3600,
	}
	if diff := cmp.Diff(wantMetrics, a.metrics.values(t)); diff != "" {
		t.Error(diff)
	}
}

// values are all series, by what they are called and labelled with.
func (m *metrics) values(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	if _, err := m.register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]float64)
	for _, family := range families {
		for _, one := range family.GetMetric() {
			name := []string{strings.TrimPrefix(family.GetName(), "fairlead_policy_audit_")}
			labels := one.GetLabel()
			slices.SortFunc(labels, func(a, b *dto.LabelPair) int { return strings.Compare(b.GetName(), a.GetName()) })
			for _, label := range labels {
				name = append(name, label.GetValue())
			}
			all[strings.Join(name, " ")] = one.GetGauge().GetValue()
		}
	}
	return all
}

// A rule sees the creation of the object by the audit's user, with what lists leave out.
func TestWhatRulesAreTold(t *testing.T) {
	api := newAPI(t)
	api.set("who", map[string]string{"p.rego": who})
	api.put(pods, "{metadata: {name: p, namespace: shop}}")
	api.put("/api/v1/namespaces", "{metadata: {name: mall}}")
	api.put("/api/v1/namespaces", "{metadata: {name: kube-system}}")
	api.put("/api/v1/nodes", "{metadata: {name: n}}")
	api.put(clonesets, "{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, metadata: {name: c, namespace: shop}}")
	a, _ := api.auditor()
	round(t, a)
	by := " by system:fairlead:audit of [\"system:authenticated\"]: "
	want := []string{
		"dryrun CloneSet shop/c who.dryrun: CREATE shop c" + by + "apps.kruise.io/v1beta1/CloneSet null",
		"dryrun Namespace /mall who.dryrun: CREATE mall" + " mall" + by + "v1/Namespace null",
		"dryrun Pod shop/p who.dryrun: CREATE shop p" + by + "v1/Pod null",
	}
	got := examples(api.summary("who"))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if slices.ContainsFunc(api.lists, func(list string) bool { return strings.Contains(list, "nodes") || strings.Contains(list, "v1alpha1") }) {
		t.Errorf("listed what no set may judge, or twice: %v", api.lists)
	}
}

func TestWhatSettingsLeaveOut(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		want     []string
		scanned  int
	}{
		"everything":          {"", []string{"a", "b", "c"}, 3},
		"other namespaces":    {"namespaceSelector: {matchLabels: {env: prod}}", []string{"b"}, 1},
		"no label":            {"namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}", []string{"a"}, 1},
		"other objects":       {"objectSelector: {matchLabels: {app: x}}", []string{"a"}, 1},
		"exempt namespaces":   {"exemptions: [{namespaces: [shop]}]", []string{"b", "c"}, 3},
		"exempt rules":        {"exemptions: [{namespaces: [shop], rules: [owner.deny]}]", []string{"b", "c"}, 3},
		"an exemption's end":  {`exemptions: [{namespaces: [shop], until: "2026-01-02T03:04:05Z"}]`, []string{"a", "b", "c"}, 3},
		"exempt for somebody": {"exemptions: [{namespaces: [shop], users: [alice]}]", []string{"a", "b", "c"}, 3},
		"exempt for audits":   {"exemptions: [{namespaces: [shop], users: ['system:fairlead:audit']}]", []string{"b", "c"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			api := newAPI(t)
			api.set("owner", map[string]string{"p.rego": owner, "settings.yaml": c.settings})
			api.put("/api/v1/namespaces", "{metadata: {name: shop}}")
			api.put("/api/v1/namespaces", "{metadata: {name: bank, labels: {env: prod}}}")
			api.put("/api/v1/namespaces", "{metadata: {name: test, labels: {env: test}}}")
			api.put(pods, "{metadata: {name: a, namespace: shop, labels: {app: x}}}")
			api.put(pods, "{metadata: {name: b, namespace: bank}}")
			api.put(pods, "{metadata: {name: c, namespace: test}}")
			a, _ := api.auditor()
			round(t, a)
			got := api.summary("owner")
			var names []string
			for _, example := range got.First {
				names = append(names, example.Name)
			}
			if !slices.Equal(names, c.want) || got.Scanned != c.scanned {
				t.Errorf("%v of %d, want %v of %d", names, got.Scanned, c.want, c.scanned)
			}
		})
	}
}

// What an audit finds again is not written again; what changes is, with the time.
func TestWrites(t *testing.T) {
	api := newAPI(t)
	api.set("owner", map[string]string{"p.rego": owner})
	api.put(pods, "{metadata: {name: a, namespace: shop}}")
	a, clock := api.auditor()
	for range 3 {
		round(t, a)
		clock.Step(time.Hour)
	}
	if len(api.patches) != 1 || api.summary("owner").Time != start {
		t.Errorf("patches %v", api.patches)
	}
	api.put(pods, "{metadata: {name: b, namespace: shop}}")
	round(t, a)
	if got := api.summary("owner"); len(api.patches) != 2 || got.Violations != 2 || !got.Time.Equal(start.Add(3*time.Hour)) {
		t.Errorf("%+v, patches %v", got, api.patches)
	}
	lists := len(api.lists)
	clock.Step(time.Minute)
	round(t, a)
	if more := api.lists[lists:]; len(more) != 1 || !strings.HasPrefix(more[0], where) {
		t.Errorf("before the hour is over %v is listed", more)
	}
	if last := a.metrics.values(t)["last_run_timestamp_seconds"]; last != float64(start.Add(3*time.Hour).Unix()) {
		t.Errorf("the last run is said to be at %v", last)
	}
}

// A set that is new or changed is audited at the next look, and it alone.
func TestChanges(t *testing.T) {
	api := newAPI(t)
	api.set("owner", map[string]string{"p.rego": owner})
	api.put(pods, "{metadata: {name: a, namespace: shop}}")
	a, clock := api.auditor()
	round(t, a)
	clock.Step(time.Minute)
	api.set("who", map[string]string{"p.rego": who})
	round(t, a)
	if api.summary("who") == nil || len(api.patches) != 2 {
		t.Errorf("a new set was not audited alone: %v", api.patches)
	}
	clock.Step(time.Minute)
	api.set("owner", map[string]string{"p.rego": owner, "settings.yaml": "enforcement: dryrun"})
	round(t, a)
	if got := api.summary("owner"); got == nil || got.ByAction["dryrun"] != 1 {
		t.Errorf("a changed set: %+v", got)
	}
	clock.Step(time.Minute)
	api.set("owner", map[string]string{"p.rego": "package broken("})
	round(t, a)
	if got := api.summary("owner"); got != nil {
		t.Errorf("a set that nobody can use was audited: %+v", got)
	}
	api.remove("who")
	round(t, a)
	if got := slices.Sorted(maps.Keys(a.metrics.values(t))); slices.ContainsFunc(got, func(name string) bool { return strings.Contains(name, "who") }) {
		t.Errorf("metrics of a set that is gone: %v", got)
	}
}

// Where nobody has policies, no audit is late.
func TestAnAuditWithoutSets(t *testing.T) {
	a, _ := newAPI(t).auditor()
	round(t, a)
	if got := a.metrics.values(t)["last_run_timestamp_seconds"]; got != float64(start.Unix()) {
		t.Errorf("the last audit was at %v", got)
	}
}

func TestAuditsThatAreSwitchedOff(t *testing.T) {
	api := newAPI(t)
	api.set("owner", map[string]string{"p.rego": owner})
	api.put(pods, "{metadata: {name: a, namespace: shop}}")
	a, clock := api.auditor()
	round(t, a)
	clock.Step(time.Minute)
	before := len(api.lists)
	api.mu.Lock()
	api.items[where][0] = strings.Replace(api.items[where][0], `"data":{`, `"data":{"settings.yaml":"audit: false",`, 1)
	api.mu.Unlock()
	round(t, a)
	if api.summary("owner") != nil || len(api.lists) != before+1 {
		t.Errorf("%+v, lists %v", api.summary("owner"), api.lists[before:])
	}
	if got := a.metrics.values(t); len(got) != 3 {
		t.Errorf("metrics of a set that is not audited: %v", got)
	}
	patches := len(api.patches)
	clock.Step(2 * time.Hour)
	round(t, a)
	if len(api.patches) != patches {
		t.Error("nothing was written again")
	}
}

// What may not be listed is said, and the rest is audited all the same.
func TestWhatMayNotBeListed(t *testing.T) {
	api := newAPI(t)
	api.set("who", map[string]string{"p.rego": who})
	api.forbidden = []string{pods}
	api.put(clonesets, "{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, metadata: {name: c, namespace: shop}}")
	a, _ := api.auditor()
	round(t, a)
	got := api.summary("who")
	if !slices.Equal(got.NotScanned, []string{"pods: may not be listed: see policies.audit.resources of the chart"}) || got.Scanned != 1 {
		t.Errorf("%+v", got)
	}
	if a.metrics.values(t)["incomplete who"] != 1 {
		t.Error("the metric says that all was audited")
	}
	api.forbidden = []string{"/api/v1/namespaces"}
	api.set("owner", map[string]string{"p.rego": owner, "settings.yaml": "namespaceSelector: {matchLabels: {a: b}}"})
	round(t, a)
	if got := api.summary("owner"); got.Scanned != 0 || !slices.Contains(got.NotScanned, "namespaces: may not be listed: see policies.audit.resources of the chart") {
		t.Errorf("%+v", got)
	}
	api.forbidden = []string{where}
	if err := a.round(t.Context()); err == nil || !strings.Contains(err.Error(), "listing sets of policies") {
		t.Errorf("%v", err)
	}
}

const twin = `# METADATA
# custom:
#   match: [{apiGroups: [""], resources: [pods]}]
package twin

# METADATA
# custom: {id: twin}
deny contains "there is one like it" if data.inventory.namespace[input.request.namespace]["apps.kruise.io/v1beta1"].CloneSet[input.request.name]

deny contains "plain" if input.request.name == "a"
`

func TestInventory(t *testing.T) {
	api := newAPI(t)
	api.set("twin", map[string]string{"p.rego": twin, "settings.yaml": "inventory: [{group: apps.kruise.io, version: v1beta1, resource: clonesets}]"})
	api.put(pods, "{metadata: {name: a, namespace: shop}}")
	api.put(pods, "{metadata: {name: b, namespace: shop}}")
	api.put(clonesets, "{metadata: {name: b, namespace: shop}}")
	a, _ := api.auditor()
	round(t, a)
	want := []string{"deny Pod shop/a twin.deny: plain", "deny Pod shop/b twin: there is one like it"}
	if diff := cmp.Diff(want, examples(api.summary("twin"))); diff != "" {
		t.Error(diff)
	}
	api.forbidden = []string{clonesets}
	a.whole = time.Time{}
	round(t, a)
	got := api.summary("twin")
	if diff := cmp.Diff(want[:1], examples(got)); diff != "" || !slices.Equal(got.NotAsked, []string{"twin"}) || len(got.NotScanned) != 1 {
		t.Errorf("%+v %s", got, diff)
	}
}

// A summary stays small whatever rules say, and counts all.
func TestBounds(t *testing.T) {
	api := newAPI(t)
	api.set("long", map[string]string{"p.rego": strings.Replace(owner, `"too many" if count(input.request.object.spec.containers) > 2`, `concat("", [sprintf("%d", [i]) | some i in numbers.range(1, 1000)])`, 1)})
	for i := range 130 {
		api.put(pods, fmt.Sprintf("{metadata: {name: p%03d, namespace: shop, labels: {owner: x}}}", i))
	}
	a, _ := api.auditor()
	round(t, a)
	got := api.summary("long")
	if got.Scanned != 130 || got.Violations != 130 || len(got.First) != 20 || got.First[0].Name != "p000" || len(got.First[0].Message) != longestMessage+3 {
		t.Errorf("%d of %d, %d examples, the first %+v", got.Violations, got.Scanned, len(got.First), got.First[0])
	}
}

// Summaries are read by more people than the objects: no value of an environment variable is in them.
func TestSummariesAreMasked(t *testing.T) {
	api := newAPI(t)
	api.set("leaky", map[string]string{"p.rego": strings.Replace(owner, `"too many" if count(input.request.object.spec.containers) > 2`,
		`sprintf("env is %v", [input.request.object.spec.containers[0].env[0].value])`, 1)})
	api.put(pods, "{metadata: {name: a, namespace: shop, labels: {owner: x}}, spec: {containers: [{env: [{name: A, value: sesame}]}]}}")
	a, _ := api.auditor()
	round(t, a)
	if diff := cmp.Diff([]string{"warn Pod shop/a owner.warn: env is ***"}, examples(api.summary("leaky"))); diff != "" {
		t.Error(diff)
	}
}

// A set whose rules take too long again and again is not asked any more: others wait for it.
func TestASetThatTakesTooLongIsGivenUp(t *testing.T) {
	late := fmt.Errorf("asking the set: %w", context.DeadlineExceeded)
	api := newAPI(t)
	api.set("owner", map[string]string{"p.rego": owner})
	a, _ := api.auditor()
	round(t, a)
	s := a.sets["owner"]
	asked := func() int {
		before := s.tally.scanned
		target := &target{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, kind: "Pod", namespaced: true, subjects: []*subject{s}}
		if err := a.judgeOne(t.Context(), target, []byte(`{"metadata":{"name":"a","namespace":"shop"}}`)); err != nil {
			t.Fatal(err)
		}
		return s.tally.scanned - before
	}
	for _, err := range []error{late, errors.New("nonsense"), late} {
		s.tally.add("Pod", meta{Name: "a"}, userpolicy.Decision{}, err)
	}
	if n := asked(); n != 1 {
		t.Errorf("asked %d times after two that took too long", n)
	}
	s.tally.add("Pod", meta{Name: "a"}, userpolicy.Decision{}, late)
	if n := asked(); n != 0 {
		t.Errorf("asked %d times after three that took too long", n)
	}
	want := []string{"what was left when the rules had taken more than 10s for each of 3 objects"}
	if got := s.tally.summary(s.set); !slices.Equal(got.NotScanned, want) || got.Failed != 4 {
		t.Errorf("%+v", got)
	}
}

// Rules that fail, or that answer nonsense, are no violations.
func TestFaults(t *testing.T) {
	api := newAPI(t)
	api.set("bad", map[string]string{"p.rego": strings.Replace(owner, `"too many" if`, `{"nonsense": 1} if`, 1)})
	api.put(pods, "{metadata: {name: a, namespace: shop, labels: {owner: x}}, spec: {containers: [{}, {}, {}]}}")
	a, _ := api.auditor()
	round(t, a)
	if got := api.summary("bad"); got.Failed != 1 || got.Violations != 0 || !strings.Contains(got.Failure, "without a message") {
		t.Errorf("%+v", got)
	}
	if a.metrics.values(t)["incomplete bad"] != 1 {
		t.Error("the metric says that all was audited")
	}
	api.conflict = true
	api.put(pods, "{metadata: {name: b, namespace: shop}}")
	a.whole = time.Time{}
	round(t, a) // the ConfigMap is another one by now
}

func TestStart(t *testing.T) {
	api := newAPI(t)
	api.set("owner", map[string]string{"p.rego": owner})
	api.put(pods, "{metadata: {name: a, namespace: shop}}")
	a, clock := api.auditor()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Start(ctx) }()
	for range 2 { // the first wait, and that after the first round
		for !clock.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
		clock.Step(settle)
		for deadline := time.Now().Add(5 * time.Second); api.summary("owner") == nil && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	if api.summary("owner") == nil || !a.NeedLeaderElection() {
		t.Error("no audit after the first wait")
	}
	registry := a.Registerer.(*prometheus.Registry)
	if families, err := registry.Gather(); err != nil || len(families) != 7 {
		t.Errorf("%d metrics, %v", len(families), err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if families, _ := registry.Gather(); len(families) != 0 {
		t.Errorf("%d metrics are left", len(families))
	}
}
