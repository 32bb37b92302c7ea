package cloneset

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/claim"
)

const (
	// longestDoubt bounds how often a CloneSet's objects are listed at the API server for a cache that misses an event:
	// such lists are of one CloneSet, and one a minute is far below what watches of a busy one cost.
	longestDoubt = time.Minute
	// maxDoublings is where a delay that begins at a second is beyond that.
	maxDoublings = 6
)

// memory is what is known of each CloneSet between syncs.
type memory struct {
	mutex sync.Mutex
	sets  map[types.NamespacedName]*remembered
}

type remembered struct {
	// trusted tells whether the cache was seen to show at least what the API server has. A process that starts, or takes
	// the lead, has not seen that of any CloneSet: its cache may be older than the last leader's writes.
	trusted bool
	// floor is the resource version of each Pod, by name, when the doubt began: what was unknown then is at most so new.
	// A cache that shows it can be trusted, even if it never shows the very newest of a CloneSet that is busy.
	floor map[string]string
	// doubtful is how many syncs in a row have found the cache to lack something.
	doubtful int
	// races is how many syncs in a row have met another writer.
	races int
	// lost has the versions of the Pods, by name, that were refused as old in the last sync.
	lost map[string]string
	ids  ids
	// pods is how many Pods it had at the last sync.
	pods   int
	roster *roster
	// batch is how many Pods to create at first, after a sync that created some.
	batch int
	// reported is when the status was written last.
	reported time.Time
	// status is the last one that was written: it is known before the API server tells of it.
	status *v1beta1.CloneSetStatus
}

func newMemory() *memory { return &memory{sets: map[types.NamespacedName]*remembered{}} }

// with runs do on what is remembered of a CloneSet.
func (m *memory) with(key types.NamespacedName, do func(*remembered)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.sets[key] == nil {
		m.sets[key] = &remembered{}
	}
	do(m.sets[key])
}

func (m *memory) trusts(key types.NamespacedName) (trusted bool) {
	m.with(key, func(r *remembered) { trusted = r.trusted })
	return trusted
}

func (m *memory) trust(key types.NamespacedName) {
	m.with(key, func(r *remembered) { r.trusted, r.floor, r.doubtful = true, nil, 0 })
}

func (m *memory) distrust(key types.NamespacedName) {
	m.with(key, func(r *remembered) { r.trusted, r.floor, r.doubtful = false, nil, 0 })
}

// doubtDelay is when to look again whether the cache has caught up: at first soon, because it is late as a rule, then
// ever later, because what it has missed for long it may never show. What it does show wakes the CloneSet anyway.
func (m *memory) doubtDelay(key types.NamespacedName) (delay time.Duration) {
	m.with(key, func(r *remembered) {
		delay = min(lookAgain<<min(r.doubtful, maxDoublings), longestDoubt)
		r.doubtful++
	})
	return delay
}

// doubts is the floor of the present doubt, which begins with these Pods if it has not begun before.
func (m *memory) doubts(key types.NamespacedName, live []*corev1.Pod) (floor map[string]string) {
	m.with(key, func(r *remembered) {
		if r.floor == nil {
			r.floor = make(map[string]string, len(live))
			for _, pod := range live {
				r.floor[pod.Name] = pod.ResourceVersion
			}
		}
		floor = r.floor
	})
	return floor
}

// raced is when to look again after a race. After the second in a row the cache is to blame: it does not show what was
// written before the first. That says nothing if the races were about single Pods: of thousands that kubelets report on
// there is another one at every sync, and lostAgain tells.
func (m *memory) raced(key types.NamespacedName, ofPods bool) (delay time.Duration) {
	m.with(key, func(r *remembered) {
		delay = min(conflictDelay<<min(r.races, maxDoublings), longestConflict)
		if r.races++; r.races > 1 && !ofPods && r.trusted {
			r.trusted, r.floor, r.doubtful = false, nil, 0
		}
	})
	return delay
}

// lostAgain tells whether the last sync has met one of these races before: about the same version of a Pod, which the cache
// still showed. It remembers them for the next sync.
func (m *memory) lostAgain(key types.NamespacedName, lost map[string]string) (again bool) {
	m.with(key, func(r *remembered) {
		for name, version := range lost {
			before, known := r.lost[name]
			again = again || known && before == version
		}
		r.lost = lost
	})
	return again
}

// read is the Pods of an owner in the order of names, and what is read of the active ones: anew only of those that have
// changed since the last sync.
func (m *memory) read(key types.NamespacedName, owner claim.Owner, all []*corev1.Pod) (pods claim.Pods, active []*reading) {
	var known *roster
	m.with(key, func(r *remembered) {
		if !r.roster.isOf(owner) {
			r.roster = newRoster(owner)
		}
		known = r.roster
	})
	pods.Active, active = make([]*corev1.Pod, 0, len(all)), make([]*reading, 0, len(all))
	for _, l := range known.read(all) {
		pods.Add(l.pod, l.role)
		if l.role == claim.Active {
			active = append(active, l.reading)
		}
	}
	m.with(key, func(r *remembered) { r.pods = len(active) })
	return pods, active
}

// pause is how long to gather events of the CloneSet's Pods.
func (m *memory) pause(key types.NamespacedName) (pause time.Duration) {
	m.with(key, func(r *remembered) { pause = min(time.Duration(r.pods)*pausePerPod, lookAgain) })
	return pause
}

// writes remembers the status that is about to be written, and that nobody changes then.
func (m *memory) writes(key types.NamespacedName, status *v1beta1.CloneSetStatus) {
	m.with(key, func(r *remembered) { r.status = status })
}

// wrote tells whether the status is the last one that we have written, to the second that its times are written to.
func (m *memory) wrote(key types.NamespacedName, status *v1beta1.CloneSetStatus) bool {
	var last *v1beta1.CloneSetStatus
	m.with(key, func(r *remembered) { last = r.status })
	ours, err := json.Marshal(last)
	theirs, failed := json.Marshal(status)
	return err == nil && failed == nil && bytes.Equal(ours, theirs)
}

func (m *memory) forget(key types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.sets, key)
}
