//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
)

// release is a Helm release of the chart in a cluster without nodes: what Helm makes of the chart's objects, while no
// Pod of ours runs.
type release struct {
	t         *testing.T
	c         *cluster.Cluster
	chart     string
	namespace string
	flags     []string // of install and upgrade
}

// newRelease is the release `kruise` in a namespace.
func newRelease(t *testing.T, c *cluster.Cluster, namespace string, flags ...string) *release {
	t.Helper()
	root, err := installation.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &release{t: t, c: c, chart: filepath.Join(root, "charts", "kruise"), namespace: namespace, flags: flags}
}

// helm runs a command on the release and fails the test with its error.
func (r *release) helm(args ...string) string {
	r.t.Helper()
	out, err := r.c.Helm(r.t.Context(), append(args, "--namespace", r.namespace)...)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *release) install(args ...string) { r.t.Helper(); r.helm(r.command("install", args)...) }
func (r *release) upgrade(args ...string) { r.t.Helper(); r.helm(r.command("upgrade", args)...) }
func (r *release) uninstall()             { r.t.Helper(); r.helm("uninstall", installation.Release) }

func (r *release) command(verb string, args []string) []string {
	return append(append([]string{verb, installation.Release, r.chart}, r.flags...), args...)
}

// rendered says whether the release's manifest has an object.
func (r *release) rendered(kind, name string) bool {
	r.t.Helper()
	for _, document := range strings.Split(r.helm("get", "manifest", installation.Release), "\n---") {
		if strings.Contains(document, "\nkind: "+kind+"\n") && strings.Contains(document, "\n  name: "+name+"\n") {
			return true
		}
	}
	return false
}

// kubectl runs kubectl and fails the test with its error.
func kubectl(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// apply applies a manifest.
func apply(t *testing.T, c *cluster.Cluster, manifest string) {
	t.Helper()
	if _, err := c.KubectlInput(t.Context(), strings.NewReader(manifest), "apply", "--server-side", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// exists says whether an object is there.
func exists(t *testing.T, c *cluster.Cluster, args ...string) bool {
	t.Helper()
	return kubectl(t, c, append([]string{"get", "--ignore-not-found", "-o", "name"}, args...)...) != ""
}

// wipe removes what uninstalling keeps.
func wipe(ctx context.Context, c *cluster.Cluster) error {
	if _, err := c.Kubectl(ctx, "delete", "namespace", installation.Namespace, "kruise-daemon-config", "--ignore-not-found"); err != nil {
		return err
	}
	names, err := definitions(ctx, c)
	if err != nil || len(names) == 0 {
		return err
	}
	_, err = c.Kubectl(ctx, append([]string{"delete", "crd"}, names...)...)
	return err
}

// definitions are the names of our CustomResourceDefinitions in the cluster.
func definitions(ctx context.Context, c *cluster.Cluster) ([]string, error) {
	out, err := c.Kubectl(ctx, "get", "crd", "-o", "json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ Group string }
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("reading the definitions: %w", err)
	}
	var names []string
	for _, crd := range list.Items {
		if strings.HasSuffix(crd.Spec.Group, ".kruise.io") {
			names = append(names, crd.Metadata.Name)
		}
	}
	return names, nil
}
