package cloneset

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
)

// ids are instance ids of which a process knows what no object tells. To lose them costs a claim that is made anew, or
// one that is used again.
type ids struct {
	// of is the UID of the CloneSet: another one of its name has other ids.
	of types.UID
	// unmade are those of Pods whose creation failed.
	unmade []string
	// ended are those of Pods that were deleted, whose claims may be there still and are not to be reused.
	ended []string
}

func (m *memory) withIDs(set *v1beta1.CloneSet, do func(*ids)) {
	m.with(key(set), func(r *remembered) {
		if r.ids.of != set.UID {
			r.ids = ids{of: set.UID}
		}
		do(&r.ids)
	})
}

// made notes what came of the creation of the Pod with an id. One that failed is to be tried again under the same id,
// unless that can never succeed: the name is another Pod's, or that of a claim that is about to go.
func (m *memory) made(set *v1beta1.CloneSet, id string, err error) {
	hopeless := apierrors.IsAlreadyExists(err) || errors.Is(err, errClaimEnds)
	m.withIDs(set, func(known *ids) {
		known.unmade = without(known.unmade, map[string]bool{id: true})
		if err != nil && !hopeless {
			known.unmade = append(known.unmade, id)
			slices.Sort(known.unmade)
		}
	})
}

// ends notes that the Pod with an id is being deleted.
func (m *memory) ends(set *v1beta1.CloneSet, id string) {
	m.withIDs(set, func(known *ids) { known.ended = append(known.ended, id) })
}

// setIDs replaces what is known by what is still of use.
func (m *memory) setIDs(set *v1beta1.CloneSet, unmade, ended []string) {
	m.withIDs(set, func(known *ids) { known.unmade, known.ended = slices.Clone(unmade), slices.Clone(ended) })
}

// idsOf are the ids of Pods whose creation failed and that are not there, and those of Pods that were deleted and are not
// there as if nothing had been.
func (m *memory) idsOf(set *v1beta1.CloneSet, pods claim.Pods) (unmade, ended []string) {
	m.withIDs(set, func(known *ids) { unmade, ended = slices.Clone(known.unmade), slices.Clone(known.ended) })
	if len(unmade)+len(ended) == 0 {
		return nil, nil
	}
	active := idsOf(pods.Active)
	return without(unmade, active, idsOf(pods.Inactive), idsOf(pods.Release)), without(ended, active)
}

func without(ids []string, those ...map[string]bool) []string {
	return slices.DeleteFunc(ids, func(id string) bool {
		return slices.ContainsFunc(those, func(some map[string]bool) bool { return some[id] })
	})
}
