//go:build load

package disruption

import "time"

const (
	// rollouts replace all three replicas one after the other.
	rollouts  = 20
	rotations = 3
	kills     = 10
	apiAway   = 30 * time.Second
	// drains are those of the test that asks replicas directly.
	drains       = 20
	sidecarSets  = 10000
	namespaces   = 2000
	coldStartCap = 10 * time.Second
)
