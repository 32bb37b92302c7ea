//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
)

// reads gets the SidecarSet in v1alpha1, in which it is not stored, one time after the other until they are ended. Each needs
// the Service for conversion: such a read is answered from no cache.
type reads struct {
	stop     func()
	done     chan struct{}
	answered int
	failures []string // with the time since the start
}

// startReads runs until the reads are ended, or the test ends.
func startReads(t *testing.T, client kubernetes.Interface) *reads {
	ctx, stop := context.WithCancel(t.Context())
	r := &reads{stop: stop, done: make(chan struct{})}
	began := time.Now()
	go func() {
		defer close(r.done)
		for ctx.Err() == nil {
			r.once(ctx, client, time.Since(began))
			select {
			case <-ctx.Done():
			case <-time.After(trafficPause):
			}
		}
	}()
	t.Cleanup(r.end)
	return r
}

func (r *reads) once(ctx context.Context, client kubernetes.Interface, at time.Duration) {
	err := client.CoreV1().RESTClient().Get().AbsPath("/apis/apps.kruise.io/v1alpha1/sidecarsets/kept").Do(ctx).Error()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.failures = append(r.failures, fmt.Sprintf("at %s: %v", at.Round(time.Millisecond), err))
	default:
		r.answered++
	}
}

func (r *reads) end() {
	r.stop()
	<-r.done
}

// assertAnswered fails if a read failed. It stops them.
func (r *reads) assertAnswered(t *testing.T, during string) {
	t.Helper()
	r.end()
	if r.answered == 0 {
		t.Errorf("%s: nothing was read in v1alpha1", during)
	}
	if len(r.failures) > 0 {
		t.Errorf("%s: %d reads in v1alpha1 were answered and %d failed; the first: %s", during, r.answered, len(r.failures), r.failures[0])
	}
	t.Logf("%s: %d reads in v1alpha1", during, r.answered)
}
