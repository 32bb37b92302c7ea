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

// releaseVariable names a folder with a release that TestRelease uses instead of making one: that which is to be published.
const releaseVariable = "FAIRLEAD_RELEASE"

// TestRelease makes a release of this tree and uses it as somebody would who has nothing but its files: checksums, command
// line, bill of materials; the image goes from the layout into a registry, the chart is installed from the repository.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the program for two architectures")
	}
	r := findRelease(t)
	t.Run("checksums", func(t *testing.T) {
		command(t, r.dir, "sha256sum", "--check", "--strict", "--quiet", "checksums.txt")
	})
	t.Run("command line", r.testCommandLine)
	t.Run("bill of materials", r.testMaterials)
	t.Run("install from the repository", r.testInstall)
}

// distribution is a release: its folder and its version.
type distribution struct{ dir, version string }

// findRelease takes the release that it is told, or makes one as `make release` does, for Linux only.
func findRelease(t *testing.T) distribution {
	t.Helper()
	if dir := os.Getenv(releaseVariable); dir != "" {
		charts, err := filepath.Glob(filepath.Join(dir, "kruise-*.tgz"))
		if err != nil || len(charts) != 1 {
			t.Fatalf("%s=%s: charts %v (%v), want one", releaseVariable, dir, charts, err)
		}
		return distribution{dir, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(charts[0]), "kruise-"), ".tgz")}
	}
	root, err := installation.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := distribution{filepath.Join(t.TempDir(), "dist"), "9.8.7"}
	command(t, root, "go", "run", "./internal/tools/release", "--version", made.version, "--output", made.dir, "--platforms", "linux/amd64,linux/arm64")
	return made
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

func (r distribution) testCommandLine(t *testing.T) {
	archive := filepath.Join(r.dir, "fairlead_"+r.version+"_linux_"+runtime.GOARCH+".tar.gz")
	dir := t.TempDir()
	command(t, dir, "tar", "-xzf", archive)
	if out := command(t, dir, "./fairlead", "version"); !strings.HasPrefix(out, "fairlead v"+r.version+" ") {
		t.Errorf("fairlead version prints %q", out)
	}
	if out := command(t, dir, "./kubectl-fairlead", "doctor", "--help"); !strings.Contains(out, "kubectl fairlead doctor") {
		t.Errorf("as a plugin its help says %q", out)
	}
	if out := command(t, dir, "./kubectl_complete-fairlead", "doc"); !strings.Contains(out, "doctor") {
		t.Errorf("it completes doc to %q", out)
	}
}

func (r distribution) testMaterials(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(r.dir, "fairlead_"+r.version+"_linux_"+runtime.GOARCH+".cdx.json"))
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
	if main := list.Metadata.Component; list.BOMFormat != "CycloneDX" || main.Name != "github.com/fairlead-io/fairlead" || main.Version != "v"+r.version {
		t.Errorf("a %s of %+v", list.BOMFormat, main)
	}
	for _, module := range []string{"k8s.io/client-go", "github.com/open-policy-agent/opa", "std"} {
		if !slices.ContainsFunc(list.Components, func(c component) bool { return c.Name == module && c.Version != "" && c.PURL != "" }) {
			t.Errorf("it lacks %s", module)
		}
	}
}

func (r distribution) testInstall(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Nodes: 1})
	index, err := oci.ReadLayout(filepath.Join(r.dir, "image"), r.version)
	if err != nil {
		t.Fatal(err)
	}
	// the name that the chart has by default
	if err := images.PushIndex(t.Context(), c.Registry(), index, "docker.io/fairlead/fairlead:"+r.version); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(r.dir)))
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
	if !strings.HasPrefix(out, "fairlead v"+r.version+" ") || !strings.HasSuffix(out, "linux/"+runtime.GOARCH) {
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
