package registration

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fairlead-io/fairlead/webhook/table"
)

func of(isValidating bool) which {
	if isValidating {
		return validating
	}
	return mutating
}

// policyEntry is the entry of a set.
func policyEntry(name string) table.Entry {
	return table.Entry{Name: name + ".policies.fairlead.io", Path: "/policies/" + name, FailurePolicy: admissionv1.Ignore}
}

// registered are entries as they were written once.
func registered(t *testing.T, names ...string) *table.Configuration {
	t.Helper()
	var entries []table.Entry
	for _, name := range names {
		entries = append(entries, policyEntry(name))
	}
	live := testConfig(t).RenderInto(table.PoliciesName, entries, table.Target{CABundle: []byte("CA"), Owner: anchorRef("a1")})
	live.UID, live.ResourceVersion = "u1", "7"
	return live
}

// servingPolicies are two replicas of which so many serve each of these.
func servingPolicies(replicas int, names ...string) fleet {
	f := fleet{ready: 2, serving: map[served]int{}}
	for _, name := range names {
		f.serving[served{policyEntry(name).Name, policyEntry(name).Path}] = replicas
	}
	return f
}

// Users' policies have a configuration of their own, whose entries come when all replicas serve them, go with their sets,
// and stay while this replica cannot tell.
func TestPoliciesAreRegisteredApart(t *testing.T) {
	sets := func(names ...string) (entries []table.Entry) {
		for _, name := range names {
			entries = append(entries, policyEntry(name))
		}
		return entries
	}
	for name, c := range map[string]struct {
		w        wanted
		live     *table.Configuration
		replicas fleet
		want     verb
		entries  []string
	}{
		"none":                         {wanted{}, nil, servingPolicies(2), leave, nil},
		"the first":                    {wanted{policies: sets("a")}, nil, servingPolicies(2, "a"), apply, []string{"a.policies.fairlead.io"}},
		"the first, on one alone":      {wanted{policies: sets("a")}, nil, servingPolicies(1, "a"), leave, nil},
		"one more, on one alone":       {wanted{policies: sets("a", "b")}, registered(t, "a"), servingPolicies(1, "b"), leave, nil},
		"one less":                     {wanted{policies: sets("a")}, registered(t, "a", "b"), servingPolicies(2, "a"), rewrite, []string{"a.policies.fairlead.io"}},
		"the last goes":                {wanted{}, registered(t, "a"), servingPolicies(2), remove, nil},
		"as wanted":                    {wanted{policies: sets("a")}, registered(t, "a"), fleet{}, leave, nil},
		"not known":                    {wanted{unknown: true}, registered(t, "a"), servingPolicies(2), leave, nil},
		"one is awaited":               {wanted{awaited: []string{"b.policies.fairlead.io"}}, registered(t, "b"), servingPolicies(2), leave, nil},
		"one is awaited, another new":  {wanted{policies: sets("a"), awaited: []string{"b.policies.fairlead.io"}}, registered(t, "b"), servingPolicies(2, "a"), apply, []string{"a.policies.fairlead.io", "b.policies.fairlead.io"}},
		"one is awaited, another gone": {wanted{awaited: []string{"b.policies.fairlead.io"}}, registered(t, "a", "b"), servingPolicies(2), rewrite, []string{"b.policies.fairlead.io"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.w.config, c.w.bundle, c.w.entries = testConfig(t), []byte("CA"), testTable()
			got := plan(c.w, policies, seen{anchor: anchorRef("a1"), live: c.live, replicas: c.replicas})
			if got.verb != c.want {
				t.Fatalf("%s, want %s; differences %q", got.verb, c.want, got.differences)
			}
			var names []string
			if got.configuration != nil {
				for _, entry := range got.configuration.Webhooks {
					names = append(names, entry.Name)
				}
				if got.configuration.Name != table.PoliciesName || got.configuration.Mutating {
					t.Errorf("%s is written", got.configuration.Name)
				}
			}
			if !slices.Equal(names, c.entries) {
				t.Errorf("%q are written, want %q", names, c.entries)
			}
		})
	}
}

// What is registered for policies is none of the other configurations' matter.
func TestPoliciesAreInNoOtherConfiguration(t *testing.T) {
	w := wanted{config: testConfig(t), entries: testTable(), bundle: []byte("CA"), policies: []table.Entry{policyEntry("a")}}
	for _, of := range []which{mutating, validating} {
		if slices.ContainsFunc(w.entriesOf(of), func(e table.Entry) bool { return e.Name == policyEntry("a").Name }) {
			t.Errorf("%s has it", of)
		}
	}
}
