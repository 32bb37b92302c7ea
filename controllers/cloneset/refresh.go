package cloneset

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
	"github.com/fairlead-io/fairlead/controllers/podset/lifecycle"
	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
	"github.com/fairlead-io/fairlead/controllers/podset/readiness"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

// Refresh brings the bookkeeping on one Pod up to date (cloneset.md §4.2 step 1). Either conditions are written, in one
// write with the patch, which then is of labels and annotations; or the Pod is resized and then patched, for the version
// that the resize made.
type Refresh struct {
	Pod        *corev1.Pod
	Conditions []corev1.PodCondition
	Resize     *podpatch.Patch
	Patch      *podpatch.Patch
	// Err is why the Pod cannot be refreshed; nothing after it is done.
	Err error
}

func (r Refresh) empty() bool {
	return len(r.Conditions) == 0 && r.Patch == nil && r.Resize == nil && r.Err == nil
}

// planRefresh looks at every Pod, whatever the strategy: this is what makes Pods ready.
func (p *planner) planRefresh() {
	target, moving := p.target()
	for i := range p.groups.members {
		m := &p.groups.members[i]
		if m.settled {
			continue
		}
		if r := p.refresh(m, target, moving); !r.empty() {
			p.plan.Refresh = append(p.plan.Refresh, r)
		}
	}
	failingLast(p.plan.Refresh, func(r Refresh) error { return r.Err })
}

// failingLast puts what cannot be done after all that can, as for a Pod with a state that someone wrote: an error ends the step.
func failingLast[T any](todo []T, err func(T) error) {
	slices.SortStableFunc(todo, func(a, b T) int { return cmp.Compare(number(err(a) != nil), number(err(b) != nil)) })
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// target is the revision that Pods are moved to now, and whether any are. Pods that prepared for an update when the
// strategy became OnDelete would wait for ever. While it is paused they do.
func (p *planner) target() (*appsv1.ControllerRevision, bool) {
	if isOnDelete(p.set) {
		return p.update, false
	}
	switch n := p.calculateUpdate().Update; {
	case n < 0:
		return p.current, true
	default:
		return p.update, n > 0
	}
}

func (p *planner) refresh(m *member, target *appsv1.ControllerRevision, moving bool) Refresh {
	pod := m.pod
	r := Refresh{Pod: pod}
	step, err := inplace.Refresh(pod, m.progress, p.now, p.settings.Server)
	if err != nil {
		return Refresh{Pod: pod, Err: err}
	}
	p.plan.Wake.in(step.Wait)
	if step.Patch != nil {
		r.Patch, r.Resize = step.Patch, step.Resize
		return r
	}
	if p.isUnborn(pod) {
		return r
	}
	if step.Open {
		r.Conditions = opened(pod, p.now)
	}
	r.Conditions = append(r.Conditions, released(pod, p.now)...)
	patch := podpatch.New(pod).Guard(pod)
	// A Pod that is not to be moved is where it is to be, as when the partition was raised while it prepared.
	facts := lifecycle.Facts{AtTarget: !moving || p.isAt(m, target), Updated: m.progress.Complete()}
	if next, moves := lifecycle.Next(pod, lifecycle.HooksOf(p.set.Spec.Lifecycle), facts); moves {
		lifecycle.Enter(patch, next, p.now)
	}
	if lacksHash(pod) {
		patch.Label(templateHashLabel, revision.ShortHash(m.revision))
	}
	if !patch.Empty() {
		r.Patch = patch
	}
	return r
}

// opened are the conditions to write so that a Pod that nothing holds back comes into service.
func opened(pod *corev1.Pod, now time.Time) []corev1.PodCondition {
	return append(readiness.OpenAfterUpdate(pod, now), readiness.First(pod, now)...)
}

// released are the conditions to write so that a Pod is not held for what is past.
func released(pod *corev1.Pod, now time.Time) []corev1.PodCondition {
	return readiness.Release(pod, now, lifecycle.Stale(pod)...)
}

func lacksHash(pod *corev1.Pod) bool {
	return pod.Labels[appsv1.ControllerRevisionHashLabelKey] != "" && pod.Labels[templateHashLabel] == ""
}

// isUnborn tells whether a new Pod is left alone: nothing makes it ready before its kubelet has reported its containers,
// which it does as soon as it has the Pod. Its gates are then opened together with the change of its state, which has
// waited for the scheduler; earlier, that write would cross the kubelet's.
func (p *planner) isUnborn(pod *corev1.Pod) bool {
	hooks := lifecycle.HooksOf(p.set.Spec.Lifecycle)
	return lifecycle.AwaitsScheduler(pod, hooks) || hooks.PreNormal == nil && !reported(pod) &&
		podstate.Lifecycle(pod) == v1beta1.LifecycleStatePreparingNormal
}

// reported tells whether a kubelet has reported on the Pod; some that are none say only that it runs.
func reported(pod *corev1.Pod) bool {
	return len(pod.Status.ContainerStatuses) > 0 || pod.Status.Phase == corev1.PodRunning
}

// refreshed are the Pods whose metadata changes: they are moved by a later sync, which knows them as they are then. What
// changes makes none of them less available, so that others may be moved meanwhile.
func (p *planner) refreshed() map[*corev1.Pod]bool {
	changed := map[*corev1.Pod]bool{}
	for _, r := range p.plan.Refresh {
		if r.Patch != nil || r.Err != nil {
			changed[r.Pod] = true
		}
	}
	return changed
}

// timestamp is a time as the lifecycle's annotation has it.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
