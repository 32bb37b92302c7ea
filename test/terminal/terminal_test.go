package terminal

import "testing"

// TestTerminal shares one cluster: starting one takes longer than all that is asked of it.
func TestTerminal(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name string
		test func(*world)
	}{
		{"all is well", allIsWell},
		{"answers are those of the cluster", answersAreThoseOfTheCluster},
		{"policies of users are asked", policiesOfUsersAreAsked},
		{"kubectl runs the plugin", kubectlRunsThePlugin},
		{"faults are found", faultsAreFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			part := *w
			part.T = t
			c.test(&part)
		})
	}
}
