package inplace

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
)

// Write is what to send for a step of an update: first Resize, if it is not nil, to the resize subresource, then Patch,
// whose guard must then name the version that the resize returned.
type Write struct {
	Patch, Resize *podpatch.Patch
	// Wait is how long the grace period lasts from now, 0 without.
	Wait time.Duration
}

// Server is what the API server can do.
type Server struct {
	// Resize tells whether resources are changed by the resize subresource, which Kubernetes has since 1.32; before, by
	// the Pod's spec.
	Resize bool
}

// MustLeaveService tells whether the Pod has to be out of service during the change: always, unless only amounts of
// resources change and no container restarts for that.
func (c *Change) MustLeaveService(pod *corev1.Pod) bool {
	onlyResources := len(c.Resources) > 0 && len(c.Images) == 0 && len(c.Env) == 0 && len(c.Metadata) == 0
	return !onlyResources || restarts(pod, c.Resources)
}

// Begin is the write that begins an update of this version of the Pod to a revision (§5.2). The caller adds the revision
// labels and the lifecycle state to its patch.
//
// What an earlier update had put off to later batches is part of this one: the Pod's label says that it is at that
// update's revision, so that the change from there does not have it.
func Begin(pod *corev1.Pod, c *Change, revision string, graceSeconds int32, now time.Time, server Server) (Write, error) {
	previous, err := ReadState(pod)
	if err != nil {
		previous = nil // it is overwritten
	}
	todo := work{images: c.Images, env: c.Env, resources: c.Resources}
	if previous != nil {
		todo = previous.next().over(todo)
	}
	state := &State{Revision: revision, UpdateTimestamp: metav1.NewTime(now.UTC())}
	patch := podpatch.New(pod).Guard(pod)
	removeLegacy(patch, pod)
	if graceSeconds > 0 {
		grace, err := graceOf(c, todo, revision, graceSeconds)
		if err != nil {
			return Write{}, err
		}
		patch.Annotate(v1beta1.InPlaceUpdateStateAnnotation, encode(state)).Annotate(v1beta1.InPlaceUpdateGraceAnnotation, encode(grace))
		return Write{Patch: patch, Wait: time.Duration(graceSeconds) * time.Second}, nil
	}
	if InGrace(pod) {
		patch.RemoveAnnotation(v1beta1.InPlaceUpdateGraceAnnotation)
	}
	patch.Metadata(c.Metadata)
	return state.apply(pod, patch, todo, now, server), nil
}

func graceOf(c *Change, todo work, revision string, seconds int32) (*Grace, error) {
	grace := &Grace{
		Revision: revision, ContainerImages: todo.images, ContainerRefMetadata: todo.env, ContainerResources: todo.resources,
		UpdateEnvFromMetadata: len(todo.env) > 0, GraceSeconds: seconds,
	}
	if len(c.Metadata) > 0 {
		patch, err := json.Marshal(map[string]any{"metadata": c.Metadata})
		if err != nil {
			return nil, err
		}
		grace.MetaDataPatch = patch
	}
	return grace, nil
}

func removeLegacy(patch *podpatch.Patch, pod *corev1.Pod) {
	for _, key := range []string{v1beta1.InPlaceUpdateStateLegacy, v1beta1.InPlaceUpdateGraceLegacy} {
		if _, there := pod.Annotations[key]; there {
			patch.RemoveAnnotation(key)
		}
	}
}

// next is what the state has put off.
func (s *State) next() work {
	return work{images: s.NextContainerImages, env: s.NextContainerRefMetadata, resources: s.NextContainerResources}
}

// apply adds the first batch of the work to the patch, and the state to it.
func (s *State) apply(pod *corev1.Pod, patch *podpatch.Patch, todo work, now time.Time, server Server) Write {
	batch, later, containers := todo.split(pod)
	write := Write{Patch: patch}
	s.applyImages(pod, patch, batch.images)
	for _, name := range slices.Sorted(maps.Keys(batch.env)) {
		s.UpdateEnvFromMetadata = true
		for key, value := range batch.env[name].Labels {
			patch.Label(key, value)
		}
		for key, value := range batch.env[name].Annotations {
			patch.Annotate(key, value)
		}
	}
	if len(batch.resources) > 0 {
		s.UpdateResources = true
		target := patch
		if server.Resize {
			write.Resize = podpatch.New(pod).Guard(pod)
			target = write.Resize
		}
		for name, resources := range batch.resources {
			target.Resources(name, resources)
		}
	}
	s.NextContainerImages, s.NextContainerRefMetadata, s.NextContainerResources = later.images, later.env, later.resources
	s.PreCheckBeforeNext = nil
	if len(later.images)+len(later.env)+len(later.resources) > 0 {
		s.PreCheckBeforeNext = &PreCheck{ContainersRequiredReady: containers}
		s.UpdateEnvFromMetadata = s.UpdateEnvFromMetadata || len(later.env) > 0
	}
	if len(containers) > 0 {
		s.ContainerBatchesRecord = append(s.ContainerBatchesRecord, BatchRecord{Timestamp: metav1.NewTime(now.UTC()), Containers: containers})
	}
	patch.Annotate(v1beta1.InPlaceUpdateStateAnnotation, encode(s))
	return write
}

// applyImages notes what ran before, by which the change is recognised when it is made.
func (s *State) applyImages(pod *corev1.Pod, patch *podpatch.Patch, images map[string]string) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		image, changes := images[c.Name]
		if !changes || image == c.Image {
			continue
		}
		patch.Image(c.Name, image)
		s.UpdateImages = true
		if status := statusOf(pod, c.Name); status != nil {
			set(&s.LastContainerStatuses, c.Name, ContainerStatus{ImageID: status.ImageID, RestartCount: status.RestartCount})
		} else if pod.Spec.NodeName != "" { // whose kubelet may be about to start it as it was
			set(&s.LastContainerStatuses, c.Name, ContainerStatus{})
		}
	}
}
