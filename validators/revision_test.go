package validators_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// The revision is that of the rules in force: the same for the same rules, another for others, and that of the old ones
// while the new ones are of no use.
func TestRevision(t *testing.T) {
	registry := prometheus.NewRegistry()
	one, other := engineWith(t, registry), engineWith(t, prometheus.NewRegistry())
	embedded := one.Revision()
	if embedded != other.Revision() || len(embedded) != 12 {
		t.Errorf("revisions of the same rules: %s and %s", embedded, other.Revision())
	}
	before := gauge(t, registry, "fairlead_rules_revision")
	if err := one.Load(t.Context(), module("\tinput.object.spec.bad")); err != nil {
		t.Fatal(err)
	}
	first := one.Revision()
	if err := one.Load(t.Context(), map[string]string{"apps/thing.rego": "package"}); err == nil || one.Revision() != first {
		t.Errorf("rules of no use (%v) changed the revision from %s to %s", err, first, one.Revision())
	}
	if err := one.Load(t.Context(), module("\tinput.object.spec.worse")); err != nil {
		t.Fatal(err)
	}
	if first == embedded || one.Revision() == first {
		t.Errorf("revisions of different rules: %s, %s, %s", embedded, first, one.Revision())
	}
	if after := gauge(t, registry, "fairlead_rules_revision"); before == 0 || after == 0 || after == before || after >= 1<<53 {
		t.Errorf("the metric went from %v to %v", before, after)
	}
}

func gauge(t *testing.T, registry prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}
