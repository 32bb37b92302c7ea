//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/oci"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/cluster/images"
	"github.com/fairlead-io/fairlead/test/installation"
)

const released = "9.8.7"

// TestRelease makes a release of this tree and uses it as somebody would who has nothing but its files: checksums, command
// line, bill of materials; the image goes from the layout into a registry, the chart is installed from the repository.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the program for two architectures")
	}
	dist := makeRelease(t)
	t.Run("checksums", func(t *testing.T) {
		command(t, dist, "sha256sum", "--check", "--strict", "--quiet", "checksums.txt")
	})
	t.Run("command line", func(t *testing.T) { commandLineOfRelease(t, dist) })
	t.Run("bill of materials", func(t *testing.T) { materialsOfRelease(t, dist) })
	t.Run("install from the repository", func(t *testing.T) { installRelease(t, dist) })
}

// makeRelease runs what `make release` runs, for Linux only.
func makeRelease(t *testing.T) string {
	t.Helper()
	root, err := installation.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dist := filepath.Join(t.TempDir(), "dist")
	command(t, root, "go", "run", "./internal/tools/release", "--version", released, "--output", dist, "--platforms", "linux/amd64,linux/arm64")
	return dist
}

func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func commandLineOfRelease(t *testing.T, dist string) {
	archive := filepath.Join(dist, "fairlead_"+released+"_linux_"+runtime.GOARCH+".tar.gz")
	dir := t.TempDir()
	command(t, dir, "tar", "-xzf", archive)
	if out := command(t, dir, "./fairlead", "version"); !strings.HasPrefix(out, "fairlead v"+released+" ") {
		t.Errorf("fairlead version prints %q", out)
	}
	if out := command(t, dir, "./kubectl-fairlead", "doctor", "--help"); !strings.Contains(out, "kubectl fairlead doctor") {
		t.Errorf("as a plugin its help says %q", out)
	}
	if out := command(t, dir, "./kubectl_complete-fairlead", "doc"); !strings.Contains(out, "doctor") {
		t.Errorf("it completes doc to %q", out)
	}
}

func materialsOfRelease(t *testing.T, dist string) {
	data, err := os.ReadFile(filepath.Join(dist, "fairlead_"+released+"_linux_arm64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	type component struct{ Name, Version, PURL string }
	var list struct {
		BOMFormat  string
		Metadata   struct{ Component component }
		Components []component
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if main := list.Metadata.Component; list.BOMFormat != "CycloneDX" || main.Name != "github.com/fairlead-io/fairlead" || main.Version != "v"+released {
		t.Errorf("a %s of %+v", list.BOMFormat, main)
	}
	for _, module := range []string{"k8s.io/client-go", "github.com/open-policy-agent/opa", "std"} {
		if !slices.ContainsFunc(list.Components, func(c component) bool { return c.Name == module && c.Version != "" && c.PURL != "" }) {
			t.Errorf("it lacks %s", module)
		}
	}
}

func installRelease(t *testing.T, dist string) {
	c := cluster.ForTest(t, cluster.Options{Nodes: 1})
	index, err := oci.ReadLayout(filepath.Join(dist, "image"), released)
	if err != nil {
		t.Fatal(err)
	}
	// the name that the chart has by default
	if err := images.PushIndex(t.Context(), c.Registry(), index, "docker.io/fairlead/fairlead:"+released); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	t.Cleanup(server.Close)
	for _, args := range [][]string{
		{"repo", "add", "fairlead", server.URL},
		{"install", installation.Release, "fairlead/kruise", "--wait", "--timeout", "5m"},
	} {
		if _, err := c.Helm(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	out := kubectl(t, c, "exec", "--namespace", installation.Namespace, "deployment/kruise-webhook", "--", "/fairlead", "version")
	if !strings.HasPrefix(out, "fairlead v"+released+" ") || !strings.HasSuffix(out, "linux/"+runtime.GOARCH) {
		t.Errorf("the Pods run %q", out)
	}
	used := kubectl(t, c, "get", "pods", "--namespace", installation.Namespace, "--output", "jsonpath={.items[*].status.containerStatuses[*].imageID}")
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range strings.Fields(used) {
		if !strings.HasSuffix(id, "@"+digest.String()) {
			t.Errorf("a Pod runs %s, want the index %s", id, digest)
		}
	}
}
