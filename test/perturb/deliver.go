package perturb

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

const deletedType = watch.Deleted

// untilRelist is how long a watch goes on at most, after which its cache is whole again.
const untilRelist = 10 * time.Minute

// fate is what becomes of one change on its way to a cache and its handlers.
type fate int

const (
	arrives fate = iota
	// unnoticed changes are in the cache, but no handler hears of them.
	unnoticed
	// vanished changes are not in the cache either, until the next list or the next change of the object.
	vanished
	// doubled changes are told twice.
	doubled
	// late changes come after the next one of their kind.
	late
)

// deliver shows a change to a cache as its fate has it.
func (r *Run) deliver(i *informer, e apiserver.Event) {
	is := arrives
	if i.process == r.leader && len(r.fates) > 0 {
		is, r.fates = r.fates[0], r.fates[1:]
	}
	postponed := i.postponed
	i.postponed = nil
	switch is {
	case arrives:
		i.show(e, true)
	case unnoticed:
		r.note("handlers do not hear of version %d of %s", e.Version, e.Key)
		r.healAt = r.now().Add(untilRelist)
		i.show(e, false)
	case vanished:
		r.note("version %d of %s does not arrive", e.Version, e.Key)
		r.healAt = r.now().Add(untilRelist)
	case doubled:
		i.show(e, true)
		i.show(e, true)
	case late:
		r.note("version %d of %s is late", e.Version, e.Key)
		i.postponed = &e
	}
	if postponed != nil {
		i.showLate(*postponed)
	}
}

// showLate shows a change unless the cache has a newer version of the object; handlers hear of it in any case.
func (i *informer) showLate(e apiserver.Event) {
	if newest, there := i.store[e.Key]; there && versionOf(newest) > e.Version {
		e.Object, e.Type = newest, watch.Modified
	}
	i.show(e, true)
}
