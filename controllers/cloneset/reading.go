package cloneset

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
	"github.com/fairlead-io/fairlead/controllers/podset/lifecycle"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// reading is what one version of a Pod says, whatever its CloneSet is and whenever that is asked. Of most Pods the next
// sync finds no newer version, and to look into the labels, annotations and conditions of thousands again would be most of
// what it costs. It never changes.
type reading struct {
	progress *inplace.Progress
	service  podstate.Service
	state    v1beta1.LifecycleStateType
	// revision is the label that names the revision that the Pod is at.
	revision                 string
	specifiedDelete, inGrace bool
	// settled tells that there is nothing to refresh, whatever the hooks and the revisions are.
	settled bool
}

func read(pod *corev1.Pod) *reading {
	progress := inplace.ProgressOf(pod)
	return &reading{
		progress: progress, service: podstate.ServiceOf(pod), state: podstate.Lifecycle(pod),
		revision:        pod.Labels[appsv1.ControllerRevisionHashLabelKey],
		specifiedDelete: podstate.SpecifiedDelete(pod), inGrace: inplace.InGrace(pod), settled: isSettled(pod, progress),
	}
}

// isOf tells whether it was read of this version of the Pod.
func (r *reading) isOf(pod *corev1.Pod) bool { return r != nil && r.progress.IsOf(pod) }

// isSettled is what refresh finds of a Pod that is not being updated in place and whose state does not change by itself.
func isSettled(pod *corev1.Pod, progress *inplace.Progress) bool {
	return progress.Complete() && lifecycle.Rests(pod) && !lacksHash(pod) &&
		len(opened(pod, time.Time{})) == 0 && len(released(pod, time.Time{})) == 0
}
