package cluster

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

const (
	// requireVariable set to 1 makes a test fail where it would skip for want of root: CI must not pass by skipping.
	requireVariable = "FAIRLEAD_REQUIRE_CLUSTER"
	// reuseVariable names a running cluster that tests use instead of starting their own.
	reuseVariable = "FAIRLEAD_TEST_CLUSTER"
	// versionVariable is the Kubernetes release for tests that do not ask for a certain one, so that the same tests
	// run on the oldest and the newest.
	versionVariable = "FAIRLEAD_KUBERNETES_VERSION"
)

var testClusters atomic.Int64 // makes the names of one test binary's clusters differ

// ForTest starts a cluster for a test and stops it at the test's end, even if the test binary is killed. Without
// root it skips the test, or fails it where FAIRLEAD_REQUIRE_CLUSTER=1. With FAIRLEAD_TEST_CLUSTER=NAME it uses
// the running cluster NAME and leaves it running. The logs of a failed test's cluster are kept, and their place is logged.
func ForTest(t testing.TB, opts Options) *Cluster {
	t.Helper()
	if name := os.Getenv(reuseVariable); name != "" {
		return reuse(t, name, opts)
	}
	if opts.Name == "" {
		opts.Name = "t" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(testClusters.Add(1), 10)
	}
	if opts.KubernetesVersion == "" {
		opts.KubernetesVersion = os.Getenv(versionVariable)
	}
	if opts.Log == nil {
		opts.Log = t.Output()
	}
	c, err := Start(t.Context(), opts)
	if errors.Is(err, ErrNotRoot) && os.Getenv(requireVariable) != "1" {
		t.Skipf("%v (%s=1 makes this a failure)", err, requireVariable)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.say("KUBECONFIG=%s", c.Kubeconfig())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs of cluster %s: %s", c.Name(), c.rescueLogs())
		}
		if err := c.Stop(); err != nil {
			t.Errorf("stopping the cluster: %v", err)
		}
	})
	return c
}

// reuse attaches to a running cluster that is fit for the test.
func reuse(t testing.TB, name string, opts Options) *Cluster {
	t.Helper()
	c, err := Attach(name, opts.StateRoot, t.Output())
	if err == nil {
		err = c.Healthy(t.Context())
	}
	if err == nil && opts.Level != c.Level() && (opts.Level != "" || c.Level() != LevelReal) {
		err = fmt.Errorf("cluster %s has level %s, the test wants %s", name, c.Level(), opts.Level)
	}
	if err == nil {
		err = c.AddNodes(t.Context(), opts.Nodes-len(c.Nodes()))
	}
	if err != nil {
		t.Fatalf("using the cluster of %s: %v", reuseVariable, err)
	}
	return c
}
