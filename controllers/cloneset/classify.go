package cloneset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/arithmetic"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
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

// groups are the active Pods in two ways of telling new from old: for scaling, Pods about to be updated may count as
// new; for updates it is strictly the revision.
type groups struct {
	places map[*corev1.Pod]place
	// asked are the Pods whose deletion someone asked for, wherever they count.
	asked map[*corev1.Pod]bool
	// scaleNew, scaleOld and updateNew, updateOld are the two sides.
	scaleNew, scaleOld, updateNew, updateOld []*corev1.Pod
}

func (p *planner) classify() groups {
	g := groups{places: make(map[*corev1.Pod]place, len(p.seen.pods.Active)), asked: map[*corev1.Pod]bool{}}
	for _, pod := range p.seen.pods.Active {
		asked := podstate.SpecifiedDelete(pod) || slices.Contains(p.set.Spec.ScaleStrategy.PodsToDelete, pod.Name)
		if asked {
			g.asked[pod] = true
		}
		g.places[pod] = p.placeOf(pod, asked)
		if isAt(pod, p.update) {
			g.updateNew = append(g.updateNew, pod)
		} else {
			g.updateOld = append(g.updateOld, pod)
		}
		if isAt(pod, p.update) || p.settings.PreparingUpdateAsUpdate && podstate.Lifecycle(pod) == v1beta1.LifecycleStatePreparingUpdate {
			g.scaleNew = append(g.scaleNew, pod)
		} else {
			g.scaleOld = append(g.scaleOld, pod)
		}
	}
	return g
}

func (p *planner) placeOf(pod *corev1.Pod, asked bool) place {
	switch {
	case podstate.Lifecycle(pod) == v1beta1.LifecycleStatePreparingDelete:
		return preparingDelete
	case asked:
		return doomed
	case p.isAvailable(pod):
		return available
	default:
		return unavailable
	}
}

// isAvailable also asks to be woken when only time is missing.
func (p *planner) isAvailable(pod *corev1.Pod) bool {
	ok, wait := podstate.Available(pod, minReadyOf(p.set), p.now)
	p.plan.Wake.in(wait)
	return ok
}

func isAt(pod *corev1.Pod, r *appsv1.ControllerRevision) bool {
	return revision.Matches(pod.Labels[appsv1.ControllerRevisionHashLabelKey], r.Name)
}

func (g groups) count(pods []*corev1.Pod) arithmetic.Group {
	var n arithmetic.Group
	for _, pod := range pods {
		switch g.places[pod] {
		case preparingDelete:
			n.PreparingDelete++
		case doomed:
			n.Doomed++
		case unavailable:
			n.Unavailable++
		case available:
			n.Available++
		}
	}
	return n
}

// of are those of the Pods that are in a place.
func (g groups) of(pods []*corev1.Pod, in place) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return g.places[pod] != in })
}

func (p *planner) calculateScale() arithmetic.Plan {
	return arithmetic.Calculate(boundsOf(p.set, p.settings, p.sameRevision()), p.groups.count(p.groups.scaleNew), p.groups.count(p.groups.scaleOld))
}

func (p *planner) calculateUpdate() arithmetic.Plan {
	return arithmetic.Calculate(boundsOf(p.set, p.settings, p.sameRevision()), p.groups.count(p.groups.updateNew), p.groups.count(p.groups.updateOld))
}
