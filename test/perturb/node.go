package perturb

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

const (
	// stopping is how long containers take to stop when their Pod is deleted.
	stopping = 2 * time.Second
	// Stuck is the annotation of a Pod that its node never ends.
	Stuck = "perturb.test/stuck"
	// Broken in the name of an image makes containers run and never be ready.
	Broken = "broken"
	// Again at the end of an image's tag makes it another tag of the same image.
	Again = "-again"
)

// kubelet is the scheduler and the nodes of a run: it places Pods, runs their containers, restarts those whose image
// changed, and ends Pods that are deleted.
type kubelet struct {
	server *apiserver.Server
	now    func() time.Time
	// silent nodes do nothing until then.
	silent map[string]time.Time
}

// step does one thing for one Pod and tells what; "" if there is nothing to do now.
func (k kubelet) step(pick func(n int) int) string {
	var todo []*corev1.Pod
	for _, pod := range k.server.Pods() {
		if k.isSilent(pod) {
			continue
		}
		if due, is := k.ends(pod); is && !due.After(k.now()) || !is && k.changed(pod) != nil {
			todo = append(todo, pod)
		}
	}
	if len(todo) == 0 {
		return ""
	}
	pod := todo[pick(len(todo))]
	key := k.server.KeyOf(pod)
	if _, ending := k.ends(pod); ending {
		// Whether finalizers still hold it is the server's to know.
		_ = k.server.Delete(key, &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		return "node ends Pod " + pod.Name
	}
	changed := k.changed(pod)
	_ = k.server.Edit(key, func(obj client.Object) { changed.DeepCopyInto(obj.(*corev1.Pod)) })
	return "node updates Pod " + pod.Name
}

// next is when there is something to do next, if only time is missing.
func (k kubelet) next() (next time.Time) {
	for _, until := range k.silent {
		if until.After(k.now()) && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	for _, pod := range k.server.Pods() {
		if due, is := k.ends(pod); is && !k.isSilent(pod) && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}

// ends is when a Pod that is being deleted ends; false if it is not, or waits for finalizers only, or never ends.
func (k kubelet) ends(pod *corev1.Pod) (time.Time, bool) {
	_, stuck := pod.Annotations[Stuck]
	if pod.DeletionTimestamp == nil || stuck || *pod.DeletionGracePeriodSeconds == 0 {
		return time.Time{}, false
	}
	began := pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
	return began.Add(stopping), true
}

// changed is the Pod after the node's next step, nil if there is none. Placing it, stopping a container and starting it
// are steps of their own, so that a controller sees each.
func (k kubelet) changed(pod *corev1.Pod) *corev1.Pod {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	changed := pod.DeepCopy()
	if pod.Spec.NodeName == "" {
		if !k.hasClaims(pod) || k.emptiest() == "" {
			return nil
		}
		changed.Spec.NodeName = k.emptiest()
		return changed
	}
	did := runContainers(changed)
	ready := !slices.ContainsFunc(changed.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return !s.Ready })
	did = k.condition(changed, corev1.ContainersReady, ready) || did
	for _, gate := range pod.Spec.ReadinessGates {
		ready = ready && conditionTrue(pod, gate.ConditionType)
	}
	if did = k.condition(changed, corev1.PodReady, ready) || did; !did {
		return nil
	}
	changed.Status.Phase = corev1.PodRunning
	return changed
}

// hasClaims tells whether a Pod's claims are there to stay, without which it is not placed.
func (k kubelet) hasClaims(pod *corev1.Pod) bool {
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		claim := apiserver.Key{Kind: claimKind, Namespace: pod.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}
		if found, err := k.server.Get(claim); err != nil || found.GetDeletionTimestamp() != nil {
			return false
		}
	}
	return true
}

var claimKind = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind()

// runContainers starts what does not run, and stops what runs another image; it tells whether it did anything.
func runContainers(pod *corev1.Pod) (did bool) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		at := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if at < 0 {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name})
			at = len(pod.Status.ContainerStatuses) - 1
		}
		switch s := &pod.Status.ContainerStatuses[at]; {
		case s.Image == c.Image && s.State.Running != nil:
			continue
		case s.State.Running != nil:
			s.State, s.Ready = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}, false
		default:
			if s.Image != "" {
				s.RestartCount++
			}
			s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			s.Image, s.ImageID, s.ContainerID = c.Image, "id-of-"+digestOf(c.Image), "c://"+c.Image
			s.Ready = !strings.Contains(c.Image, Broken)
			s.Resources = c.Resources.DeepCopy()
		}
		did = true
	}
	return did
}

// digestOf is what identifies an image whatever its tag: the same for tag 1 and tag 1-again.
func digestOf(image string) string { return strings.TrimSuffix(image, Again) }

func conditionTrue(pod *corev1.Pod, of corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == of && c.Status == corev1.ConditionTrue
	})
}

// condition sets a condition, and tells whether that changes it.
func (k kubelet) condition(pod *corev1.Pod, of corev1.PodConditionType, to bool) bool {
	status := corev1.ConditionFalse
	if to {
		status = corev1.ConditionTrue
	}
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == of })
	if at < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: of})
		at = len(pod.Status.Conditions) - 1
	}
	if pod.Status.Conditions[at].Status == status {
		return false
	}
	pod.Status.Conditions[at] = corev1.PodCondition{Type: of, Status: status, LastTransitionTime: metav1.NewTime(k.now().Truncate(time.Second))}
	return true
}
