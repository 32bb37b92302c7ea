package cloneset

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/controllers/podset/claim"
)

// roster is a CloneSet's Pods as the last sync has read them. Only the sync of the CloneSet uses it, of which there is one
// at a time.
type roster struct {
	owner claim.Owner
	// known are by the Pods' names.
	known map[string]*known
}

// known is what is known of a Pod.
type known struct {
	reading *reading
	role    claim.Role
	// rank is its place among the names.
	rank int
}

// listed is a Pod in the order of names.
type listed struct {
	pod *corev1.Pod
	*known
}

func newRoster(owner claim.Owner) *roster { return &roster{owner: owner, known: map[string]*known{}} }

// isOf tells whether what it knows is of this owner. By another selector Pods have other roles.
func (r *roster) isOf(owner claim.Owner) bool {
	return r != nil && r.owner.UID == owner.UID && r.owner.Selector.String() == owner.Selector.String()
}

// read sorts Pods, of whatever order, by name, which is all that some differ by: the order of a list is no reason to choose
// one over another. It looks only into those that have changed since the last time.
func (r *roster) read(pods []*corev1.Pod) []listed {
	before := len(r.known)
	kept, added := make([]listed, before), []listed(nil)
	for _, pod := range pods {
		of := r.known[pod.Name]
		if of == nil {
			of = &known{}
			added = append(added, listed{pod, of})
		} else {
			kept[of.rank] = listed{pod, of}
		}
		if !of.reading.isOf(pod) {
			of.reading, of.role = read(pod), r.owner.RoleOf(pod)
		}
	}
	kept = slices.DeleteFunc(kept, func(l listed) bool { return l.pod == nil })
	gone := len(kept) < before
	if len(added) == 0 && !gone {
		return kept
	}
	all := merge(kept, added)
	r.rank(all, gone)
	return all
}

// rank notes the order and the Pods that are new, and forgets those that are gone.
func (r *roster) rank(all []listed, gone bool) {
	if gone {
		r.known = make(map[string]*known, len(all))
	}
	for i, l := range all {
		l.rank = i
		r.known[l.pod.Name] = l.known
	}
}

func byName(a, b listed) int { return cmp.Compare(a.pod.Name, b.pod.Name) }

// merge is all in the order of names. Those kept have it already.
func merge(kept, added []listed) []listed {
	slices.SortFunc(added, byName)
	all := make([]listed, 0, len(kept)+len(added))
	for _, l := range kept {
		for len(added) > 0 && byName(added[0], l) < 0 {
			all, added = append(all, added[0]), added[1:]
		}
		all = append(all, l)
	}
	return append(all, added...)
}
