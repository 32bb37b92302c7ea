//go:build !load

package disruption

import "time"

// What `make test` has time for.
const (
	rollouts     = 1
	rotations    = 1
	kills        = 1
	apiAway      = 4 * time.Second
	drains       = 2
	sidecarSets  = 500
	namespaces   = 100
	coldStartCap = 10 * time.Second
)
