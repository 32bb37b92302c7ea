package registration

import (
	"slices"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// which of the configurations it is: its name.
type which string

const (
	mutating   which = table.MutatingName
	validating which = table.ValidatingName
	// policies has the entries of users' policies, which come and go while we run.
	policies which = table.PoliciesName
)

var kinds = []which{mutating, validating, policies}

// Policies are users' policies, as far as the configuration is concerned.
type Policies interface {
	// Entries are those that this replica serves. known is false while it cannot tell, and then the configuration is left
	// alone: a replica that has just started must not take away what others registered. awaited are the names of entries that
	// it will serve some day: what is registered of them stays as it is.
	Entries() (entries []table.Entry, awaited []string, known bool)
	// Notify has a function called whenever the answer may have changed.
	Notify(changed func())
}

// undecided says whether nobody can tell yet what a configuration should be.
func (w wanted) undecided(of which) bool { return w.bundle == nil || of == policies && w.unknown }

// entriesOf are the entries that are wanted in a configuration.
func (w wanted) entriesOf(of which) []table.Entry {
	if of == policies {
		return w.policies
	}
	return slices.DeleteFunc(slices.Clone(w.entries), func(e table.Entry) bool { return e.Mutating != (of == mutating) })
}
