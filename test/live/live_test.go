package live

import "testing"

// TestLive shares one cluster: starting one takes longer than all that is asked of it.
func TestLive(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name string
		test func(*world)
	}{
		{"labels keep what they say", labelsKeepWhatTheySay}, // the first one, as it counts all denials
		{"a large namespace is counted in time", aLargeNamespaceIsCountedInTime},
		{"a definition with objects stays", aDefinitionWithObjectsStays},
		{"a restart names the instance of this moment", aRestartNamesTheInstanceOfThisMoment},
		{"what cannot be captured is refused", whatCannotBeCapturedIsRefused},
		{"a captured request does not change", aCapturedRequestDoesNotChange},
		{"a manifest of a restart is applied twice", aManifestOfARestartIsAppliedTwice},
		{"a Pod gets the version that its SidecarSet asks for", aPodGetsTheVersionThatItsSidecarSetAsksFor},
	} {
		t.Run(c.name, func(t *testing.T) {
			part := *w
			part.T = t
			c.test(&part)
		})
	}
}
