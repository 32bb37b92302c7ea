package cloneset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// holdInterval is when to look again whether Pods may be created. No event of the CloneSet tells.
const holdInterval = 2 * time.Second

// Hold keeps CloneSets from creating Pods for a time, at the start of a process. All else goes on: what is there is deleted,
// updated in place and reported.
type Hold struct {
	mayCreate func() error

	mutex sync.Mutex
	told  map[types.NamespacedName]bool
}

// NewHold makes a Hold that asks a func, which says why Pods must not be created yet, or nil.
func NewHold(mayCreate func() error) *Hold {
	return &Hold{mayCreate: mayCreate, told: map[types.NamespacedName]bool{}}
}

// back says why Pods of a CloneSet must wait, and whether that is to be told: once. A nil Hold holds nothing back.
func (h *Hold) back(set types.NamespacedName) (why error, tell bool) {
	if h == nil {
		return nil, false
	}
	why = h.mayCreate()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if why == nil {
		clear(h.told)
		return nil, false
	}
	tell = !h.told[set]
	h.told[set] = true
	return why, tell
}

// hold takes the Pods that are to be created out of the plan while they must wait.
func (r *Reconciler) hold(set *v1beta1.CloneSet, p *Plan, o *outcome) {
	if len(p.Scale.Create) == 0 {
		return
	}
	why, tell := r.Hold.back(key(set))
	if why == nil {
		return
	}
	if tell {
		o.normal(waitingForAdmission, "%d Pods are to be created when admission works: %v", len(p.Scale.Create), why)
	}
	p.Scale.Create = nil
	o.wake = sooner(o.wake, holdInterval)
}
