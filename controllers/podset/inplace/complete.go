package inplace

import (
	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/controllers/podset/runtimemeta"
)

// Complete tells whether nothing of an in-place update is left to do or to wait for. A Pod that was never updated in
// place is complete.
func Complete(pod *corev1.Pod) bool { return ProgressOf(pod).Complete() }

func (w work) empty() bool { return len(w.images)+len(w.env)+len(w.resources) == 0 }

// batchComplete tells whether the containers run as the Pod's spec says now (§5.6).
func (s *State) batchComplete(pod *corev1.Pod) bool {
	report, err := runtimemeta.Read(pod)
	if err != nil {
		return false
	}
	if s.UpdateEnvFromMetadata && (report == nil || !report.Consistent(pod, runtimemeta.SameEnv(pod))) {
		return false
	}
	if s.UpdateResources && !resized(pod) {
		return false
	}
	if report != nil && report.Consistent(pod, runtimemeta.SamePlain) {
		return true
	}
	for name, before := range s.LastContainerStatuses {
		if !changed(pod, name, before) && (report != nil || !s.restarted(pod, name, before)) {
			return false
		}
	}
	return true
}

// restarted tells whether the container was started after the update, by a kubelet that knows the Pod's spec of now. It is how
// two tags of one image look where the runtime says the other tag and no daemon reports. Kubelets before Kubernetes 1.34
// do not say which spec they know.
func (s *State) restarted(pod *corev1.Pod, name string, before ContainerStatus) bool {
	status := statusOf(pod, name)
	return status != nil && status.RestartCount > before.RestartCount &&
		status.State.Running != nil && !status.State.Running.StartedAt.Before(&s.UpdateTimestamp) &&
		pod.Status.ObservedGeneration != 0 && pod.Status.ObservedGeneration == pod.Generation
}

// changed tells whether the container runs another image than before, or the one that it should run: that is how a
// change that was taken back before the kubelet saw it looks, and two tags of one image where the runtime says the tag. One
// that had not run before the update may have been started since with the image of before: of it only the image that it runs
// tells.
func changed(pod *corev1.Pod, name string, before ContainerStatus) bool {
	status := statusOf(pod, name)
	if status == nil {
		return false
	}
	if status.ImageID != before.ImageID && before.ImageID != "" {
		return true
	}
	if status.ImageID == "" {
		return false
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return sameImage(pod.Spec.Containers[i].Image, status.Image)
		}
	}
	return true // it is not in the spec: no change to wait for
}

// sameImage compares full names: runtimes say docker.io/library/nginx:latest for nginx.
func sameImage(a, b string) bool { return a == b || fullName(a) == fullName(b) }

func fullName(image string) string {
	named, err := reference.ParseDockerRef(image)
	if err != nil {
		return image
	}
	return named.String()
}
