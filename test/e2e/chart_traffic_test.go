//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

const (
	// trafficPause makes about fifteen creations a second: enough that a gap of a tenth of a second is seen.
	trafficPause = 50 * time.Millisecond
	// trafficNamespace is that of the Deployment too.
	trafficNamespace = "shop"
	sidecarName      = "sidecar"
)

// traffic creates and deletes Pods that the SidecarSet matches and no node takes, one after the other, until it is
// stopped.
type traffic struct {
	stop func()
	done chan struct{}

	mu       sync.Mutex
	created  int
	plain    int      // of those created, how many lack the sidecar
	refusals []string // with the time since the start
}

// startTraffic runs until the traffic is stopped, or the test ends.
func startTraffic(t *testing.T, client kubernetes.Interface) *traffic {
	ctx, stop := context.WithCancel(t.Context())
	tr := &traffic{stop: stop, done: make(chan struct{})}
	began := time.Now()
	go func() {
		defer close(tr.done)
		for ctx.Err() == nil {
			tr.once(ctx, client, time.Since(began))
			select {
			case <-ctx.Done():
			case <-time.After(trafficPause):
			}
		}
	}()
	t.Cleanup(tr.end)
	return tr
}

func (tr *traffic) once(ctx context.Context, client kubernetes.Interface, at time.Duration) {
	pods := client.CoreV1().Pods(trafficNamespace)
	pod, err := pods.Create(ctx, trafficPod(), metav1.CreateOptions{})
	if ctx.Err() != nil {
		return
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if err != nil {
		tr.refusals = append(tr.refusals, fmt.Sprintf("at %s: %v", at.Round(time.Millisecond), err))
		return
	}
	tr.created++
	if !hasSidecar(pod) {
		tr.plain++
	}
	if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil && ctx.Err() == nil {
		tr.refusals = append(tr.refusals, fmt.Sprintf("deleting at %s: %v", at.Round(time.Millisecond), err))
	}
}

// end stops the traffic.
func (tr *traffic) end() {
	tr.stop()
	<-tr.done
}

// assertUndisturbed fails if a Pod was refused. It stops the traffic.
func (tr *traffic) assertUndisturbed(t *testing.T, during string) {
	t.Helper()
	tr.end()
	if tr.created == 0 {
		t.Errorf("%s: no Pod was created", during)
	}
	if len(tr.refusals) > 0 {
		t.Errorf("%s: %d Pods were created and %d requests failed; the first: %s", during, tr.created, len(tr.refusals), tr.refusals[0])
	}
	t.Logf("%s: %d Pods were created, %d of them without sidecar", during, tr.created, tr.plain)
}

// assertInjected fails if a Pod was created without its sidecar. It stops the traffic.
func (tr *traffic) assertInjected(t *testing.T, during string) {
	t.Helper()
	tr.end()
	if tr.plain > 0 {
		t.Errorf("%s: %d of %d Pods lack the sidecar", during, tr.plain, tr.created)
	}
}

func trafficPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "passing-", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{"no-such": "node"},
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers:                    []corev1.Container{{Name: "web", Image: "bank.test/web:v1"}},
		},
	}
}

func hasSidecar(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == sidecarName })
}
