//go:build load

package certificates

import "time"

const (
	// replicas of the Deployment.
	replicas = 3
	// renews says whether everything that can be renewed is, while the chart is in cert-manager's mode.
	renews = true
	// mountLag is how long a changed Secret takes to its mount, at most; a kubelet takes up to a minute and a half.
	mountLag = 3 * time.Second
	// leastPods and leastConversions are how much traffic there must have been.
	leastPods, leastConversions = 200, 100
)
