package registration

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead-io/fairlead/internal/bell"
)

const (
	// resync bounds how long a missed event goes unnoticed.
	resync = 30 * time.Second
	// waitingCheck is how often replicas are asked while entries wait for them, and so how soon after a rollout's last
	// step a new webhook works.
	waitingCheck = 2 * time.Second
	// shortest is the first delay after trouble and after a write; a burst of changes is met by one round.
	shortest = 200 * time.Millisecond
	// longestLead bounds how long a quarrel about a configuration delays the next try.
	longestLead = 30 * time.Second
	// longestGuard is shorter: while configurations outlive the service, Pods cannot be created.
	longestGuard = 2 * time.Second
)

// backoff starts at shortest again after reset.
type backoff struct {
	longest time.Duration
	current wait.Backoff
}

func newBackoff(longest time.Duration) *backoff {
	b := &backoff{longest: longest}
	b.reset()
	return b
}

func (b *backoff) reset() {
	// Twenty steps reach any longest delay; jitter parts replicas that fail together.
	b.current = wait.Backoff{Duration: shortest, Factor: 2, Jitter: 0.2, Steps: 20, Cap: b.longest}
}

func (b *backoff) next() time.Duration { return b.current.Step() }

// sleep waits for a time, or until one of the channels has something, and says whether ctx still goes on.
func (r *Registrar) sleep(ctx context.Context, d time.Duration, events bell.Bell, bundles <-chan struct{}) bool {
	timer := r.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
	case <-events:
	case <-bundles:
	}
	return ctx.Err() == nil
}
