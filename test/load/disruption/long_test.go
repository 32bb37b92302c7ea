//go:build load

package disruption

import (
	"testing"
	"time"
)

const (
	// rollouts are how often, and replaced is how many of the three replicas are replaced one after the other each time.
	rollouts, replaced = 20, 3
	// rotations of the CA, and as many deletions of its Secret alone.
	rotations = 3
	// kills of a replica, at 20 Pods a second and at 300 reviews a second.
	kills = 10
	// drains at 300 reviews a second.
	drains  = 20
	apiAway = 30 * time.Second
	// enough Pods were created when things count as well again.
	enough = 100
	// crowd is a quarter of the connections that many and slow clients open: more than a replica keeps open.
	crowd = 1500
)

// aside would have a test that needs no API server run beside others; here each has the machine for itself.
func aside(*testing.T) {}
