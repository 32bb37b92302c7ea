package policyaudit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
)

// subject is a set, and what the audit that runs has found of it.
type subject struct {
	name string
	// object is the ConfigMap that the summary is written onto, nil for none, and annotation the summary that it has.
	object     *sources.Object
	annotation string
	// hash tells versions apart, and audited is that of the last audit.
	hash, audited string
	// set is what is in force; nil for nothing, of which unusable is the reason.
	set                 *userpolicy.Set
	unusable            error
	namespaces, objects labels.Selector
	inventory           userpolicy.Inventory
	tally               tally
}

// nothing is the version of a set that has nothing in force.
const nothing = "nothing"

// read reads the sets anew. What is as it was is not compiled again.
func (a *Auditor) read(ctx context.Context) error {
	if err := a.readConfigMaps(ctx); err != nil {
		return err
	}
	a.poll(ctx)
	found := make(map[string]*subject)
	for _, state := range a.keeper.States() {
		s, err := a.subject(state)
		if err != nil {
			return fmt.Errorf("reading the set %s: %w", state.Name, err)
		}
		if s != nil {
			found[s.name] = s
		}
	}
	for name := range a.sets {
		if found[name] == nil {
			a.metrics.forget(name)
		}
	}
	a.sets = found
	return nil
}

// subject is the set of a source; nil for one that has nothing in force. Of a ConfigMap the admission service says why, but a
// bundle may be out of the reach of this process alone.
func (a *Auditor) subject(state sources.State) (s *subject, err error) {
	unusable := errors.Join(state.Failure, state.Trouble)
	if state.Set == nil && (unusable == nil || !strings.HasPrefix(state.Name, userpolicy.BundlePrefix)) {
		return nil, nil
	}
	s = &subject{name: state.Name, object: state.Object, hash: state.InForce.Hash, set: state.Set, unusable: unusable}
	if state.Set == nil {
		s.hash = nothing // whatever the reason: that of a network differs each time
	}
	if known := a.sets[s.name]; known != nil && known.hash == s.hash && known.sameObject(state.Object) {
		s.audited = known.audited
	}
	if s.object != nil {
		s.annotation = a.configMaps.summaries[s.object.Name]
	}
	if state.Set == nil {
		return s, nil
	}
	settings := state.Set.Settings()
	if s.namespaces, err = selectorOf(settings.NamespaceSelector); err != nil {
		return nil, err
	}
	s.objects, err = selectorOf(settings.ObjectSelector)
	return s, err
}

// sameObject says whether a summary that was written is where it would be written now.
func (s *subject) sameObject(other *sources.Object) bool {
	if s.object == nil || other == nil {
		return s.object == other
	}
	return s.object.UID == other.UID
}

// wants says whether the set wants to be audited.
func (s *subject) wants() bool { return s.set == nil || s.set.Settings().Audited() }

// selectorOf is everything for nil, as in a webhook.
func selectorOf(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// due are the sets to look at, in the order of their names: all, or those that changed. Of one that does not want to be audited the
// summary of an earlier audit is to go.
func (a *Auditor) due(all bool) []*subject {
	var due []*subject
	for _, s := range slices.SortedFunc(maps.Values(a.sets), func(x, y *subject) int { return cmp.Compare(x.name, y.name) }) {
		if !all && s.audited == s.hash {
			continue
		}
		s.tally = tally{}
		due = append(due, s)
	}
	return due
}
