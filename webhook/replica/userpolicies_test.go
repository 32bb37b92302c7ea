package replica

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// policySet is a ConfigMap with a set of this name.
func policySet(t *testing.T, name, rule string) []byte {
	t.Helper()
	raw, err := json.Marshal(corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: table.DefaultNamespace, Name: name, Labels: map[string]string{sources.Label: "true"}},
		Data:       map[string]string{"a.rego": "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [\"\"], resources: [pods]}]}\npackage p\n\n" + rule + "\n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A replica that starts while a set has a mistake has no version before it. The set is not gone for that: its entry stays
// registered, and its requests are left to its failure policy.
func TestASetThatCannotBeUsedIsNotGone(t *testing.T) {
	p := newUserPolicies(Options{}, prometheus.NewRegistry(), nil)
	p.synced = func() error { return nil }
	sink := p.kinds(t.Context())[0].Sink
	const entry = "images.policies.fairlead.io"
	for _, step := range []struct {
		name, rule      string
		inForce, awaits bool
	}{
		{"with a mistake", "deny contains x", false, true},
		{"mended", `deny contains "no"`, true, false},
		{"with a mistake after a good version", "deny contains x", true, false},
		{"gone", "", false, false},
	} {
		if step.rule == "" {
			sink.Delete(table.DefaultNamespace, "images")
		} else if err := sink.Upsert(policySet(t, "images", step.rule)); err != nil {
			t.Fatal(err)
		}
		entries, awaited, known := p.Entries()
		inForce := slices.ContainsFunc(entries, func(e table.Entry) bool { return e.Name == entry })
		if !known || inForce != step.inForce || slices.Contains(awaited, entry) != step.awaits {
			t.Errorf("%s: entries %v, awaited %q", step.name, entries, awaited)
		}
		switch err := p.awaited("images"); {
		case step.awaits && (err == nil || !strings.Contains(err.Error(), "a.rego:6") || !strings.Contains(err.Error(), "images cannot be used") || !strings.Contains(err.Error(), "correct ConfigMap kruise-system/images, or delete it")):
			t.Errorf("%s: requests are told %v", step.name, err)
		case !step.awaits && err != nil:
			t.Errorf("%s: requests are told %v", step.name, err)
		}
	}
}
