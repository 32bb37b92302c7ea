//go:build !load

package disruption

import (
	"testing"
	"time"
)

// What `make test` has time for.
const (
	rollouts  = 1
	replaced  = 1
	rotations = 1
	kills     = 1
	drains    = 1
	apiAway   = 2 * time.Second
	enough    = 20
	// crowd is a quarter of the connections that many and slow clients open.
	crowd = 100
)

// aside has a test that needs no API server run beside others of its kind: most of their time is waiting.
func aside(t *testing.T) { t.Parallel() }
