package membership

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// rig is a replica in a Pod of the chart.
type rig struct {
	*Replica
	client *fake.Clientset
	// fails is what becomes of a patch.
	fails func() error
	lines []string
	// patches are the subresources that were patched.
	patches []string
}

const drain = 10 * time.Second

func newRig(pods ...runtime.Object) *rig {
	r := &rig{client: fake.NewClientset(pods...), fails: func() error { return nil }}
	r.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		r.patches = append(r.patches, action.GetSubresource())
		err := r.fails()
		return err != nil, nil, err
	})
	log := funcr.New(func(_, args string) { r.lines = append(r.lines, args) }, funcr.Options{})
	r.Replica = New(r.client.CoreV1().Pods("kruise-system"), "kruise-webhook-1", drain, log)
	return r
}

func pod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kruise-system", Name: "kruise-webhook-1",
		Labels: map[string]string{"control-plane": "kruise-webhook", "app.kubernetes.io/name": "kruise-webhook"},
	}}
}

func (r *rig) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	}
}

func (r *rig) assertLabels(t *testing.T, when string, want map[string]string) {
	t.Helper()
	pod, err := r.client.CoreV1().Pods("kruise-system").Get(t.Context(), "kruise-webhook-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, maps.Clone(pod.Labels)); diff != "" {
		t.Errorf("%s: %s", when, diff)
	}
}

var (
	inside  = map[string]string{"control-plane": "kruise-webhook", "app.kubernetes.io/name": "kruise"}
	outside = map[string]string{"control-plane": "kruise-webhook", "app.kubernetes.io/name": "kruise-webhook"}
)

func TestJoinsAndLeavesBeforeTheDrainEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(pod())
		if r.Joined() == nil {
			t.Error("it says it has joined before it ran")
		}
		stop := r.run(t)
		r.assertLabels(t, "serving", inside)
		if err := r.Joined(); err != nil {
			t.Error(err)
		}
		asked := time.Now()
		stop()
		r.assertLabels(t, "draining", outside)
		if took := time.Since(asked); took != 0 {
			t.Errorf("it left %s after it was told to stop", took)
		}
		if diff := cmp.Diff([]string{"status", "status"}, r.patches); diff != "" {
			t.Errorf("patched subresources: %s", diff)
		}
		if len(r.lines) > 0 {
			t.Errorf("it logs %v", r.lines)
		}
	})
}

// TestJoinsAgainInItsOldPod is about a container that was restarted: the one before it has left.
func TestJoinsAgainInItsOldPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(pod())
		r.run(t)()
		again := New(r.client.CoreV1().Pods("kruise-system"), "kruise-webhook-1", drain, r.log)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = again.Run(ctx) }()
		synctest.Wait()
		r.assertLabels(t, "restarted", inside)
	})
}

func TestJoiningIsTriedUntilItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(pod())
		r.fails = func() error { return errors.New("connection refused") }
		stop := r.run(t)
		defer stop()
		time.Sleep(time.Minute)
		if err := r.Joined(); err == nil || !strings.Contains(err.Error(), "app.kubernetes.io/name: kruise") {
			t.Errorf("joined: %v", err)
		}
		r.fails = func() error { return nil }
		time.Sleep(time.Second)
		r.assertLabels(t, "the API server is back", inside)
		if err := r.Joined(); err != nil {
			t.Error(err)
		}
		if len(r.lines) != 1 {
			t.Errorf("it logs %d lines, want 1: %v", len(r.lines), r.lines)
		}
	})
}

// TestLeavingIsBounded is about an API server that is away, or refuses: the replica must stop in time all the same.
func TestLeavingIsBounded(t *testing.T) {
	for name, fault := range map[string]error{
		"away":      errors.New("connection refused"),
		"forbidden": apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "kruise-webhook-1", errors.New("no")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(pod())
				stop := r.run(t)
				r.fails = func() error { return fault }
				asked := time.Now()
				stop()
				if took := time.Since(asked); took > drain {
					t.Errorf("leaving took %s", took)
				}
				if len(r.lines) != 1 {
					t.Errorf("it logs %d lines, want 1: %v", len(r.lines), r.lines)
				}
				if err := r.Joined(); err != nil {
					t.Errorf("readiness went with the API server: %v", err)
				}
			})
		})
	}
}

// TestLeavingIsTriedAgain is about one API server of several that is just going.
func TestLeavingIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(pod())
		stop := r.run(t)
		failures := 3
		r.fails = func() error {
			if failures--; failures >= 0 {
				return errors.New("connection refused")
			}
			return nil
		}
		stop()
		r.assertLabels(t, "after three failures", outside)
	})
}

func TestOutsideOfPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		stop := r.run(t)
		if err := r.Joined(); err != nil {
			t.Error(err)
		}
		stop()
		if len(r.patches) != 2 || len(r.lines) > 0 {
			t.Errorf("patches %v, lines %v", r.patches, r.lines)
		}
	})
}
