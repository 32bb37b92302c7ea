//go:build e2e

package e2e

import (
	"testing"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/images"
	"github.com/fairlead-io/fairlead/test/installation"
)

// install pushes the images that tests run and the product's, and installs or upgrades the chart, with values as --set takes
// them.
func install(t *testing.T, c *cluster.Cluster, set ...string) {
	t.Helper()
	if err := images.PushAll(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	tag, err := installation.PushImage(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := installation.Upgrade(t.Context(), c, tag, set...); err != nil {
		t.Fatal(err)
	}
}
