package cloneset

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubelet stands for the scheduler and all nodes. It looks at every Pod again and again: slower than watching, and with
// nothing to miss.
type kubelet struct {
	client  client.Client
	binding *kubernetes.Clientset
}

func (k *kubelet) run(ctx context.Context) {
	for ctx.Err() == nil {
		pods := &corev1.PodList{}
		if err := k.client.List(ctx, pods); err == nil {
			for i := range pods.Items {
				k.look(ctx, &pods.Items[i])
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// look does one thing to a Pod. What fails is tried again by the next look.
func (k *kubelet) look(ctx context.Context, pod *corev1.Pod) {
	switch {
	case pod.DeletionTimestamp != nil:
		_ = k.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
	case pod.Spec.NodeName == "":
		_ = k.binding.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "node"},
		}, metav1.CreateOptions{})
	default:
		running := pod.DeepCopy()
		run(running)
		if patch := client.StrategicMergeFrom(pod); changed(patch, running) {
			_ = k.client.Status().Patch(ctx, running, patch)
		}
	}
}

func changed(patch client.Patch, pod *corev1.Pod) bool {
	data, err := patch.Data(pod)
	return err != nil || string(data) != "{}"
}

// run makes the Pod's status that of one whose containers run what its spec says. Those of an image called broken are
// not ready.
func run(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	before := pod.Status.ContainerStatuses
	pod.Status.ContainerStatuses = nil
	ready := true
	for _, c := range pod.Spec.Containers {
		status := corev1.ContainerStatus{Name: c.Name}
		for _, old := range before {
			if old.Name == c.Name {
				status = old
			}
		}
		if status.Image != "" && status.Image != c.Image {
			status.RestartCount++
		}
		status.Image, status.ImageID, status.ContainerID = c.Image, "id-of-"+c.Image, "c://"+c.Image
		status.Ready = !strings.Contains(c.Image, "broken")
		ready = ready && status.Ready
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	set(pod, corev1.ContainersReady, ready)
	for _, gate := range pod.Spec.ReadinessGates {
		ready = ready && isTrue(pod, gate.ConditionType)
	}
	set(pod, corev1.PodReady, ready)
}

func isTrue(pod *corev1.Pod, of corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == of {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func set(pod *corev1.Pod, of corev1.PodConditionType, to bool) {
	status := corev1.ConditionFalse
	if to {
		status = corev1.ConditionTrue
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == of {
			if c.Status != status {
				*c = corev1.PodCondition{Type: of, Status: status, LastTransitionTime: metav1.Now()}
			}
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: of, Status: status, LastTransitionTime: metav1.Now()})
}
