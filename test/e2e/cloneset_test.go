//go:build e2e

package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
)

// TestCloneSets runs CloneSets on real nodes with the chart's own rights and its webhooks. At the end the controllers' logs
// must be free of errors.
func TestCloneSets(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Nodes: 2})
	install(t, c)
	w := newCloneSets(t, c)
	w.replicasAreNew()
	parts := []struct {
		namespace string
		long      bool
		run       func(cloneSets)
	}{
		{"clone-in-place", false, inPlaceKeepsThePod},
		{"clone-in-place-beta", true, inPlaceKeepsThePodInBeta},
		{"clone-recreate", true, recreates},
		{"clone-shared-image", true, sharedImageIsRecreated},
		{"clone-autoscaled", true, surgesWhileItIsScaled},
		{"clone-bounded", true, staysWithinMaxUnavailable},
		{"clone-asked", false, deletesAsAsked},
		{"clone-plain-delete", true, plainDeleteRunsNoHook},
		{"clone-not-ready", true, leavesServiceFirst},
		{"clone-registry", false, operatorKeepsARegistry},
		{"clone-claims", true, claimsFollowThePods},
		{"clone-fresh-claims", true, claimsAreMadeAnew},
		{"clone-by-clients", false, clientsScale},
		{"clone-articles", true, articlesRun},
	}
	t.Run("parts", func(t *testing.T) {
		for _, part := range parts {
			if part.long && testing.Short() {
				continue
			}
			t.Run(strings.TrimPrefix(part.namespace, "clone-"), func(t *testing.T) {
				t.Parallel() // they mostly wait
				part.run(w.in(t, part.namespace))
			})
		}
	})
	w.logsAreClean()
	if !testing.Short() {
		t.Run("leader killed", func(t *testing.T) { outlivesALeader(w.in(t, "clone-leader")) })
	}
}

// replicasAreNew waits until those of an earlier release, if there was one, are gone: the last ones still get requests to
// convert, and refuse connections between their end and that of their Pod.
func (w cloneSets) replicasAreNew() {
	w.Helper()
	w.until(func() string {
		return w.Must("", "-n", installation.Namespace, "get", "pods", "-o", `jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}`)
	})
}

// complaints of the controllers are errors, and refusals of the API server.
var complaints = regexp.MustCompile(`(?m)^.*(?:level=ERROR|cannot (?:list|get|watch|patch|create|update|delete) resource).*$`)

// logsAreClean but for complaints that have one of the texts.
func (w cloneSets) logsAreClean(expected ...string) {
	w.Helper()
	const most = 20 // complaints of one Pod that are shown
	asExpected := func(line string) bool {
		return slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(line, text) })
	}
	for _, pod := range strings.Fields(w.Must("", "-n", installation.Namespace, "get", "pods", "-l", "control-plane=controller-manager", "-o", "name")) {
		lines := complaints.FindAllString(w.Must("", "-n", installation.Namespace, "logs", "--tail=-1", pod), -1)
		lines = slices.DeleteFunc(lines, asExpected)
		for _, line := range lines[:min(len(lines), most)] {
			w.Errorf("%s says: %s", pod, line)
		}
	}
}

// restsQuietly finds that nothing is written while nothing is to be done.
func (w cloneSets) restsQuietly(name string) {
	w.Helper()
	versions := func() string {
		all := []string{w.read(name).ResourceVersion}
		for _, pod := range w.pods() {
			all = append(all, pod.Name, pod.ResourceVersion)
		}
		return strings.Join(all, " ")
	}
	// The kubelet's own last report about a Pod may be under way still.
	time.Sleep(5 * time.Second)
	before := versions()
	time.Sleep(15 * time.Second)
	if after := versions(); after != before {
		w.Errorf("the settled CloneSet and its Pods were written: %s became %s", before, after)
	}
}
