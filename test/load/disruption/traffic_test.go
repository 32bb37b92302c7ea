package disruption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// every is the time between two Pods: 20 a second.
	every = 50 * time.Millisecond
	// podPatience is more than a webhook's timeout, which the API server enforces.
	podPatience = 15 * time.Second
)

// creation is a Pod that was asked for.
type creation struct {
	began, ended time.Time
	err          error
	injected     bool
}

// traffic creates Pods that the SidecarSet matches, whatever becomes of those before.
type traffic struct {
	pods typed.PodInterface
	stop context.CancelFunc
	busy sync.WaitGroup
	mu   sync.Mutex
	all  []creation
}

func startTraffic(t *testing.T, pods typed.PodInterface) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	tr := &traffic{pods: pods, stop: cancel}
	tr.busy.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				tr.busy.Go(tr.once)
			}
		}
	})
	t.Cleanup(cancel)
	return tr
}

func (tr *traffic) once() {
	ctx, cancel := context.WithTimeout(context.Background(), podPatience)
	defer cancel()
	c := creation{began: time.Now()}
	created, err := tr.pods.Create(ctx, pod(), metav1.CreateOptions{})
	c.ended, c.err = time.Now(), err
	c.injected = err == nil && slices.ContainsFunc(created.Spec.Containers, func(c corev1.Container) bool { return c.Name == "agent" })
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.all = append(tr.all, c)
}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "bank.test/web:v1"}}},
	}
}

// succeeded is how many Pods were created so far.
func (tr *traffic) succeeded() (n int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, c := range tr.all {
		if c.err == nil {
			n++
		}
	}
	return n
}

// end stops, and reports what must not be: a Pod without its sidecar, or a failure that nothing excuses.
func (tr *traffic) end(t *testing.T, excused func(creation) bool) {
	t.Helper()
	tr.stop()
	tr.busy.Wait()
	var failed, unexcused, bare int
	var longest time.Duration
	var first string
	for _, c := range tr.all {
		longest = max(longest, c.ended.Sub(c.began))
		switch {
		case c.err == nil && !c.injected:
			bare++
		case c.err != nil:
			failed++
			if !excused(c) {
				unexcused++
				first = strings.Join([]string{first, fmt.Sprintf("%s after %s: %v", c.began.Format("05.000"), c.ended.Sub(c.began).Round(time.Millisecond), c.err)}, "\n")
			}
		}
	}
	if bare > 0 {
		t.Errorf("%d Pods lack their sidecar", bare)
	}
	if unexcused > 0 {
		t.Errorf("%d creations failed that nothing excuses:%.2000s", unexcused, first)
	}
	if len(tr.all) == failed {
		t.Error("no Pod was created")
	}
	t.Logf("%d Pods asked for, %d refused, %d without sidecar, the longest took %s", len(tr.all), failed, bare, longest.Round(time.Millisecond))
}

// nothing is excused.
func nothing(creation) bool { return false }
