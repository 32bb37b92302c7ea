package doctor

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const goodRules = "# METADATA\n# custom: {match: [{apiGroups: [\"\"], resources: [pods]}]}\npackage p\n\ndeny contains \"no\"\n"

// policySet is a ConfigMap with a set, and a status if it has one.
func policySet(t *testing.T, rules string, status *sources.Status) corev1.ConfigMap {
	t.Helper()
	c := corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kruise-system", Name: "images", Labels: map[string]string{sources.Label: "true"}},
		Data:       map[string]string{"p.rego": rules},
	}
	if status != nil {
		if status.Observed == "" {
			status.Observed = sources.HashOf(c.Data)
		}
		text, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		c.Annotations = map[string]string{sources.StatusAnnotation: string(text)}
	}
	return c
}

func policyDoctor(objects ...corev1.ConfigMap) *Doctor {
	client := fake.NewClientset()
	for i := range objects {
		_ = client.Tracker().Add(&objects[i])
	}
	return &Doctor{
		config: table.Config{Namespace: "kruise-system"}, installation: installed(features.New("")), cluster: &terminal.Cluster{Client: client},
	}
}

func TestStatusesOfPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		status     *sources.Status
		want       Severity
		says, cure string
	}{
		"in force":                     {&sources.Status{State: sources.Active, Revision: "1"}, "", "", ""},
		"no status":                    {nil, Warning, "no status", "logs"},
		"another version":              {&sources.Status{State: sources.Active, Revision: "1", Observed: "0"}, Warning, "another version", "logs"},
		"nothing in force":             {&sources.Status{State: sources.Invalid, Message: "p.rego:5"}, Error, "nothing of it is in force: p.rego:5", "policy check"},
		"the version before in force":  {&sources.Status{State: sources.Invalid, Revision: "1", Message: "p.rego:5"}, Warning, "not usable: p.rego:5", "policy check"},
		"an inventory":                 {&sources.Status{State: sources.Active, Revision: "1", Message: "lacks", NotLive: []string{"p.deny"}}, Warning, "lacks", "policies.inventory"},
		"the server of a bundle":       {&sources.Status{State: sources.Active, Revision: "1", Message: "away"}, Warning, "away", "server of the bundle"},
		"what is surely not meant":     {&sources.Status{State: sources.Active, Revision: "1", Warnings: []string{"exemptions name x"}}, Warning, "exemptions name x", "change the set"},
		"an annotation that is broken": {&sources.Status{}, Error, "nothing of it is in force", "policy check"},
	} {
		r := &report{}
		set := policySet(t, goodRules, c.status)
		policyDoctor().judgeSet(r, &set, "images")
		if got := found(t, r); got.Severity != c.want || !strings.Contains(got.Message, c.says) || !strings.Contains(got.Cure, c.cure) {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// The third configuration is compared with what the sets that are there would have.
func TestWebhooksOfPolicies(t *testing.T) {
	active := policySet(t, goodRules, &sources.Status{State: sources.Active, Revision: "1"})
	broken := policySet(t, "package p(", &sources.Status{State: sources.Invalid, Revision: "1", Message: "p.rego:1"})
	broken.Name = "broken"
	bundle := policySet(t, goodRules, &sources.Status{State: sources.Active, Revision: "1", Entries: []string{"org.bundles.fairlead.io"}})
	bundle.Name, bundle.Labels = "org", map[string]string{sources.BundleLabel: "org"}
	entry := func(name string) table.Entry {
		set, _ := userpolicy.SetOf(name)
		e := userpolicy.Installation{Namespace: "kruise-system"}.Entry(compiled(t, set))
		return e
	}
	registered := func(change func(*table.Entry), names ...string) *table.Configuration {
		var entries []table.Entry
		for _, name := range names {
			e := entry(name)
			if change != nil {
				change(&e)
			}
			entries = append(entries, e)
		}
		return table.Config{Namespace: "kruise-system"}.RenderInto(table.PoliciesName, entries, table.Target{})
	}
	all := []string{"images.policies.fairlead.io", "broken.policies.fairlead.io", "org.bundles.fairlead.io"}
	for name, c := range map[string]struct {
		live *table.Configuration
		want Severity
		says string
	}{
		"as it should be":      {registered(nil, all...), "", ""},
		"none":                 {nil, Error, "does not exist"},
		"an entry is missing":  {registered(nil, all[1:]...), Error, "webhook images.policies.fairlead.io is missing"},
		"a bundle's is":        {registered(nil, all[:2]...), Error, "webhook org.bundles.fairlead.io is missing"},
		"of nobody's set":      {registered(nil, append(all, "gone.policies.fairlead.io")...), Warning, "gone.policies.fairlead.io is not in the table"},
		"another failure rule": {registered(func(e *table.Entry) { e.FailurePolicy = "Fail" }, all...), Warning, "images.policies.fairlead.io: FailurePolicy"},
	} {
		d := policyDoctor(active, broken, bundle)
		if c.live != nil {
			if err := d.cluster.Client.(*fake.Clientset).Tracker().Add(c.live.Object()); err != nil {
				t.Fatal(err)
			}
		}
		r := &report{}
		if err := checkPolicies(t.Context(), d, r); err != nil {
			t.Fatal(err)
		}
		about := &report{}
		for _, f := range r.findings {
			if strings.HasPrefix(f.Object, "ValidatingWebhookConfiguration") {
				about.findings = append(about.findings, f)
			}
		}
		if got := found(t, about); got.Severity != c.want || !strings.Contains(got.Message+got.Means, c.says) {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

func compiled(t *testing.T, name string) *userpolicy.Set {
	t.Helper()
	source, err := userpolicy.Parse(name, map[string]string{"p.rego": goodRules})
	if err != nil {
		t.Fatal(err)
	}
	set, err := userpolicy.Compile(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A probe that somebody's rules refuse says nothing of admission, and its cure is theirs.
func TestAProbeThatPoliciesRefuse(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for text, c := range map[string]struct {
		want             Severity
		says, cure, kind string
	}{
		`admission webhook "images.policies.fairlead.io" denied the request: no`: {Warning, "the set images of users' policies refuses", "exemptions", "forbidden"},
		`admission webhook "org.bundles.fairlead.io" denied the request: no`:     {Warning, "the set bundle/org of", "exemptions", "forbidden"},
		`admission webhook "validate.others.test" denied the request: no`:        {Warning, "the webhook validate.others.test refuses", "leave out", "forbidden"},
		`failed calling webhook "images.policies.fairlead.io": unavailable`:      {Error, "the set images of users' policies gives no decision", "mend the set", "internal"},
		`failed calling webhook "mpod.kb.io": unavailable`:                       {"", "", "", "internal"},
		`User "ada" cannot create resource "pods"`:                               {"", "", "", "forbidden"},
	} {
		err := error(apierrors.NewForbidden(pods, "x", errors.New(text)))
		if c.kind == "internal" {
			err = apierrors.NewInternalError(errors.New(text))
		}
		r := &report{}
		told := policyDoctor().judgeProbe(r, "Namespace x", err)
		if got := found(t, r); told != (c.want != "") || got.Severity != c.want || !strings.Contains(got.Message, c.says) || !strings.Contains(got.Cure, c.cure) {
			t.Errorf("%s: %+v, %v", text, got, told)
		}
	}
}
