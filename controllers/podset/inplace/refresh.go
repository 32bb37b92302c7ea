package inplace

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

// Refreshed is how an update goes on.
type Refreshed struct {
	// Write is the next step, if its Patch is not nil. Its Wait is what is left of the grace period.
	Write
	// Open tells whether nothing holds the Pod back from service: the gate InPlaceUpdateReady may be opened.
	Open bool
}

// Refresh looks how far the update of a Pod is (§5.7), of which progress was read. A Pod that is not updated in place has its
// gate opened: that is how a new Pod becomes ready.
func Refresh(pod *corev1.Pod, progress *Progress, now time.Time, server Server) (Refreshed, error) {
	if err := cmp.Or(progress.stateErr, progress.graceErr); err != nil {
		return Refreshed{}, err
	}
	switch state := progress.state; {
	case progress.grace != nil:
		return endGrace(pod, state, progress.grace, now, server)
	case state == nil:
		return Refreshed{Open: true}, nil
	case !progress.batchDone:
		return Refreshed{}, nil
	case !state.readyForNext(pod):
		return Refreshed{}, nil
	}
	patch := podpatch.New(pod).Guard(pod)
	removeLegacy(patch, pod)
	return applied(pod, patch, progress.state.next(), now, server)
}

// applied applies work to the state as the Pod has it: what was read of it before is others' too.
func applied(pod *corev1.Pod, patch *podpatch.Patch, todo work, now time.Time, server Server) (Refreshed, error) {
	state, err := ReadState(pod)
	if err != nil {
		return Refreshed{}, err
	}
	return Refreshed{Write: state.apply(pod, patch, todo, now, server)}, nil
}

func (s *State) readyForNext(pod *corev1.Pod) bool {
	if s.PreCheckBeforeNext == nil {
		return true
	}
	return !slices.ContainsFunc(s.PreCheckBeforeNext.ContainersRequiredReady, func(name string) bool {
		status := statusOf(pod, name)
		return status == nil || !status.Ready
	})
}

// endGrace makes the change that was put off when its time has come. If the Pod has been moved to another revision
// meanwhile, the change is void.
func endGrace(pod *corev1.Pod, state *State, grace *Grace, now time.Time, server Server) (Refreshed, error) {
	patch := podpatch.New(pod).Guard(pod).RemoveAnnotation(v1beta1.InPlaceUpdateGraceAnnotation)
	removeLegacy(patch, pod)
	if !revision.Matches(pod.Labels[appsv1.ControllerRevisionHashLabelKey], grace.Revision) {
		return Refreshed{Write: Write{Patch: patch}}, nil
	}
	if state == nil {
		return Refreshed{}, fmt.Errorf("ending the grace period of Pod %s: annotation %s is missing", pod.Name, v1beta1.InPlaceUpdateStateAnnotation)
	}
	over := state.UpdateTimestamp.Add(time.Duration(grace.GraceSeconds) * time.Second)
	if left := over.Sub(now); left > 0 {
		return Refreshed{Write: Write{Wait: roundUp(left)}}, nil
	}
	metadata, err := patchedMetadata(grace.MetaDataPatch)
	if err != nil {
		return Refreshed{}, err
	}
	patch.Metadata(metadata)
	todo := work{images: grace.ContainerImages, env: grace.ContainerRefMetadata, resources: grace.ContainerResources}
	return applied(pod, patch, todo, now, server)
}

// roundUp is to whole seconds, which is what updateTimestamp is precise to.
func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
