// Package table has the type of one webhook and renders a list of them into the two webhook configurations. It is
// pure: what the list contains is decided in package webhook, and who writes the configurations in package
// registration and in `fairlead webhook print`.
package table

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/featuregate"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Entry is everything that is to know about one webhook (webhook-server.md §1). The router, the configurations, the
// RBAC and the docs' table are made from it, so they cannot disagree. Zero values mean what the comments say, and
// are written out when rendered: the API server would fill them in anyway, and then nothing differs from what we
// wrote.
type Entry struct {
	// Name is the entry's name in its configuration, such as mpod.kb.io; it is unique in the table.
	Name string
	// Mutating says which of the two configurations the entry is in.
	Mutating bool
	// Path is where the service serves it. Two entries may share one.
	Path string

	// Rules say which requests come. Scope is put into each that has none of its own.
	Rules []admissionv1.RuleWithOperations
	// Scope is that of the rules; "" is AllScopes.
	Scope admissionv1.ScopeType

	// FailurePolicy is used unless Config overrides it for this entry; "" is Fail.
	FailurePolicy admissionv1.FailurePolicyType
	// TimeoutSeconds is used if positive, otherwise Config.TimeoutSeconds.
	TimeoutSeconds int32
	// SideEffects is None if "".
	SideEffects admissionv1.SideEffectClass
	// Namespaces says whether the release namespace and kube-system are left out.
	Namespaces Namespaces
	// NamespaceSelector and ObjectSelector select all if nil; the requirements of Namespaces are added to the former.
	NamespaceSelector, ObjectSelector *metav1.LabelSelector
	MatchConditions                   []admissionv1.MatchCondition
	// MatchPolicy is Equivalent if "".
	MatchPolicy admissionv1.MatchPolicyType
	// ReinvocationPolicy is Never if ""; validating entries have none.
	ReinvocationPolicy admissionv1.ReinvocationPolicyType

	// Gate switches the entry; "" is always on.
	Gate featuregate.Feature
	// Handler answers its requests.
	Handler admission.Handler
}

// Namespaces is the part of a cluster whose requests an entry takes.
type Namespaces int

const (
	// EveryNamespace is also right for cluster-scoped kinds, which no namespaceSelector can leave out.
	EveryNamespace Namespaces = iota
	// TenantNamespaces leaves out kube-system, so that a cluster can start without us, and the release namespace, so
	// that we can start without ourselves. Both are told by kubernetes.io/metadata.name, which the API server sets and
	// no tenant can forge (DESIGN.md §3).
	TenantNamespaces
)

// Gates says which feature gates are on.
type Gates interface {
	Enabled(featuregate.Feature) bool
}

// Enabled returns the entries whose gate is on.
func Enabled(entries []Entry, gates Gates) []Entry {
	var on []Entry
	for _, entry := range entries {
		if entry.Gate == "" || gates.Enabled(entry.Gate) {
			on = append(on, entry)
		}
	}
	return on
}

// Disabled returns the entries whose gate is off.
func Disabled(entries []Entry, gates Gates) []Entry {
	var off []Entry
	for _, entry := range entries {
		if entry.Gate != "" && !gates.Enabled(entry.Gate) {
			off = append(off, entry)
		}
	}
	return off
}

// Names returns the entries' names in their order.
func Names(entries []Entry) []string {
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	return names
}
