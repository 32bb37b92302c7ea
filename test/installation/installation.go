// Package installation puts Fairlead into a cluster as a user would: an image in a registry, and the Helm chart.
package installation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/internal/oci"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// Names of what the chart installs by default.
const (
	Release    = "kruise"
	Namespace  = "kruise-system"
	Repository = "registry.example.com/fairlead"
)

// Root is the top folder of this module, wherever inside it a test runs.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// PushImage builds the product's image from this tree and pushes it into the cluster's registry. Its tag is made from the
// program, so that an unchanged tree changes nothing in a cluster.
func PushImage(ctx context.Context, c *cluster.Cluster) (tag string, err error) {
	dir, err := os.MkdirTemp("", "fairlead-image")
	if err != nil {
		return "", fmt.Errorf("making a folder for the program: %w", err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "fairlead")
	if err := cluster.BuildStatic(ctx, "github.com/fairlead-io/fairlead/cmd/fairlead", program); err != nil {
		return "", err
	}
	built, err := os.ReadFile(program)
	if err != nil {
		return "", fmt.Errorf("reading the program: %w", err)
	}
	tag = fmt.Sprintf("tree-%x", sha256.Sum256(built))[:20]
	return tag, c.PushBinaryImage(ctx, oci.Product(program), Repository+":"+tag)
}

// Upgrade installs the chart, or upgrades it, with an image that PushImage pushed, and waits until it works. set holds
// further values as --set takes them.
func Upgrade(ctx context.Context, c *cluster.Cluster, tag string, set ...string) error {
	root, err := Root(ctx)
	if err != nil {
		return err
	}
	args := []string{"upgrade", "--install", Release, filepath.Join(root, "charts", "kruise"), "--wait", "--timeout", "3m"}
	for _, value := range append([]string{"manager.image.repository=" + Repository, "manager.image.tag=" + tag}, set...) {
		args = append(args, "--set", value)
	}
	_, err = c.Helm(ctx, args...)
	return err
}
