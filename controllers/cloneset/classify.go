package cloneset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/arithmetic"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

// place is where the arithmetic counts a Pod.
type place int

const (
	preparingDelete place = iota
	doomed
	unavailable
	available
)

// member is an active Pod as this sync finds it.
type member struct {
	*reading
	pod *corev1.Pod
	at  *position
	place
	// asked tells whether someone asked for its deletion, and available whether it is, wherever it counts.
	asked, available bool
}

func (m *member) goes() bool { return m.asked || m.place == preparingDelete }

// position is what Pods with one revision label are at.
type position struct {
	// revision is nil if the history does not have it.
	revision *appsv1.ControllerRevision
	// update and current tell whether it is that one.
	update, current bool
}

// groups are the active Pods, and their numbers in two ways of telling new from old: for scaling, Pods about to be updated
// may count as new; for updates it is strictly the revision.
type groups struct {
	members []member
	// positions are by the label.
	positions                                map[string]*position
	scaleNew, scaleOld, updateNew, updateOld arithmetic.Group
	// going is how many Pods are on their way out or asked to be.
	going int
}

// classify also asks to be woken when only time is missing until a Pod is available.
func (p *planner) classify() {
	g := &p.groups
	g.members, g.positions = make([]member, len(p.seen.pods.Active)), map[string]*position{}
	minReady := minReadyOf(p.set)
	for i, pod := range p.seen.pods.Active {
		m := &g.members[i]
		m.reading, m.pod = p.seen.reading(i), pod
		m.at = p.position(m.revision)
		m.asked = m.specifiedDelete || slices.Contains(p.set.Spec.ScaleStrategy.PodsToDelete, pod.Name)
		ok, wait := m.service.Available(minReady, p.now)
		m.available = ok
		p.plan.Wake.in(wait)
		m.place = placeOf(m)
		if m.goes() {
			g.going++
		}
		count(p.scalesAsNew(m), m.place, &g.scaleNew, &g.scaleOld)
		count(m.at.update, m.place, &g.updateNew, &g.updateOld)
	}
}

func placeOf(m *member) place {
	switch {
	case m.state == v1beta1.LifecycleStatePreparingDelete:
		return preparingDelete
	case m.asked:
		return doomed
	case m.available:
		return available
	default:
		return unavailable
	}
}

func (p *planner) position(label string) *position {
	at := p.groups.positions[label]
	if at == nil {
		at = &position{
			revision: revision.Named(label, p.history),
			update:   revision.Matches(label, p.update.Name), current: revision.Matches(label, p.current.Name),
		}
		p.groups.positions[label] = at
	}
	return at
}

// isAt tells whether a Pod is at the update revision or the current one.
func (p *planner) isAt(m *member, r *appsv1.ControllerRevision) bool {
	if r == p.update {
		return m.at.update
	}
	return m.at.current
}

func (p *planner) scalesAsNew(m *member) bool {
	return m.at.update || p.settings.PreparingUpdateAsUpdate && m.state == v1beta1.LifecycleStatePreparingUpdate
}

// count adds a Pod to one of the two sides.
func count(isNew bool, in place, updated, old *arithmetic.Group) {
	side := old
	if isNew {
		side = updated
	}
	switch in {
	case preparingDelete:
		side.PreparingDelete++
	case doomed:
		side.Doomed++
	case unavailable:
		side.Unavailable++
	case available:
		side.Available++
	}
}

// those are the Pods of which something holds.
func (g *groups) those(holds func(*member) bool) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range g.members {
		if m := &g.members[i]; holds(m) {
			pods = append(pods, m.pod)
		}
	}
	return pods
}

func (g *groups) in(where place) []*corev1.Pod {
	return g.those(func(m *member) bool { return m.place == where })
}

func (p *planner) calculateScale() arithmetic.Plan {
	return arithmetic.Calculate(boundsOf(p.set, p.settings, p.sameRevision()), p.groups.scaleNew, p.groups.scaleOld)
}

func (p *planner) calculateUpdate() arithmetic.Plan {
	return arithmetic.Calculate(boundsOf(p.set, p.settings, p.sameRevision()), p.groups.updateNew, p.groups.updateOld)
}
