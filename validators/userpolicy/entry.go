package userpolicy

import (
	"cmp"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// BundlePrefix begins the names of sets that come as bundles; no ConfigMap's name has a slash.
const BundlePrefix = "bundle/"

const (
	// entrySuffix and bundleSuffix end the names of entries; the rest is the set's.
	entrySuffix  = ".policies.fairlead.io"
	bundleSuffix = ".bundles.fairlead.io"
	// longestEntry is the API server's bound for names of webhooks.
	longestEntry = 253

	// Below is the path below which sets are served, by name.
	Below = "/policies/"
)

// EntryName is the name of a set's entry in the configuration.
func EntryName(set string) string {
	if bundle, ok := strings.CutPrefix(set, BundlePrefix); ok {
		return bundle + bundleSuffix
	}
	return set + entrySuffix
}

// SetOf is the set that a webhook is the entry of; false for a webhook of others.
func SetOf(entry string) (set string, ours bool) {
	if bundle, ok := strings.CutSuffix(entry, bundleSuffix); ok {
		return BundlePrefix + bundle, true
	}
	return strings.CutSuffix(entry, entrySuffix)
}

// PathOf is where a set is served.
func PathOf(set string) string { return Below + set }

// CheckName says whether a set can have a name.
func CheckName(name string) error {
	if entry := EntryName(name); len(entry) > longestEntry {
		return fmt.Errorf("checking the name: %d characters are too many for the webhook %s: at most %d", len(name), entry, len(name)-len(entry)+longestEntry)
	}
	return nil
}

// Entry is what a set has in the third configuration. It depends on nothing that rules say but on what they match and on
// settings, so that a swap which changes neither changes no configuration.
func (i Installation) Entry(set *Set) table.Entry {
	settings := set.Settings()
	entry := table.Entry{
		Name: EntryName(set.Name()), Path: PathOf(set.Name()),
		FailurePolicy:  cmp.Or(settings.FailurePolicy, admissionv1.Ignore),
		TimeoutSeconds: settings.TimeoutSeconds,
		// A decision is logged and counted, and that is all.
		SideEffects:       admissionv1.SideEffectClassNone,
		Namespaces:        table.TenantNamespaces,
		NamespaceSelector: settings.NamespaceSelector, ObjectSelector: settings.ObjectSelector,
		MatchConditions: i.conditions(),
	}
	for _, m := range set.Match() {
		m = m.withDefaults()
		scope := m.Scope
		entry.Rules = append(entry.Rules, admissionv1.RuleWithOperations{
			Operations: m.Operations,
			Rule:       admissionv1.Rule{APIGroups: m.APIGroups, APIVersions: m.APIVersions, Resources: m.Resources, Scope: &scope},
		})
	}
	return entry
}
