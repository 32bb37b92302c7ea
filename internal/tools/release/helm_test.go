package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// Helm finds the release in the repository, checks the package's digest, and installs it: into a cluster without nodes, so
// no Pod runs. The test on real nodes is TestRelease in test/e2e.
func TestHelmInstallsFromTheRepository(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	if err := standIn(dir).make(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	c := cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})
	ctx := context.WithoutCancel(t.Context()) // also for what is done at the end
	helm := func(args ...string) string {
		t.Helper()
		out, err := c.Helm(ctx, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	helm("repo", "add", "fairlead", server.URL)
	t.Cleanup(func() { helm("repo", "remove", "fairlead") }) // the cluster may be one that stays
	if out := helm("search", "repo", "fairlead/kruise", "--output", "json"); !strings.Contains(out, `"version":"1.2.3","app_version":"1.2.3"`) {
		t.Errorf("helm search finds %s", out)
	}
	helm("install", "from-repository", "fairlead/kruise", "--namespace", "default", "--set", "installation.namespace=from-repository")
	t.Cleanup(func() { helm("uninstall", "from-repository", "--namespace", "default", "--no-hooks") })
	const images = "jsonpath={.items[*].spec.template.spec.containers[*].image}"
	const image = "fairlead/fairlead:1.2.3"
	out, err := c.Kubectl(ctx, "get", "deployments", "--namespace", "from-repository", "--output", images)
	if want := image + " " + image; err != nil || out != want {
		t.Errorf("the Deployments have the images %q (%v), want %q", out, err, want)
	}
}
