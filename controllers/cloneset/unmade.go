package cloneset

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
)

// made notes what came of the creation of the Pod with an id. One that failed is to be tried again under the same id,
// unless that can never succeed: the name is another Pod's, or that of a claim that is about to go.
func (m *memory) made(set *v1beta1.CloneSet, id string, err error) {
	hopeless := apierrors.IsAlreadyExists(err) || errors.Is(err, errClaimEnds)
	m.with(key(set), func(r *remembered) {
		r.unmade = slices.DeleteFunc(r.unmade, func(other string) bool { return other == id })
		if err != nil && !hopeless {
			r.unmade = append(r.unmade, id)
			slices.Sort(r.unmade)
		}
	})
}

func (m *memory) setUnmade(set *v1beta1.CloneSet, ids []string) {
	m.with(key(set), func(r *remembered) { r.unmade, r.unmadeFor = slices.Clone(ids), set.UID })
}

// unmadeOf are the ids of Pods whose creation failed, less those that turn out to be there.
func (m *memory) unmadeOf(set *v1beta1.CloneSet, pods claim.Pods) (ids []string) {
	m.with(key(set), func(r *remembered) {
		if r.unmadeFor == set.UID {
			ids = slices.Clone(r.unmade)
		}
	})
	for _, there := range []map[string]bool{idsOf(pods.Active), idsOf(pods.Inactive), idsOf(pods.Release)} {
		ids = slices.DeleteFunc(ids, func(id string) bool { return there[id] })
	}
	return ids
}
