package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/fairlead-io/fairlead/internal/oci"
	"github.com/fairlead-io/fairlead/test/cluster/images"
	"github.com/fairlead-io/fairlead/test/cluster/internal/registry"
)

// PushImage puts an image into the cluster's registry under each of the references, such as bank.test/web:v1, from
// where the nodes pull it by that name.
func (c *Cluster) PushImage(ctx context.Context, img v1.Image, references ...string) error {
	return images.Push(ctx, c.Registry(), img, references...)
}

// PushBinaryImage builds an image and pushes it under each of the references.
func (c *Cluster) PushBinaryImage(ctx context.Context, spec oci.Spec, references ...string) error {
	img, err := oci.Build(spec)
	if err != nil {
		return err
	}
	return c.PushImage(ctx, img, references...)
}

// RequireLogin makes the registry ask for a user and password from then on when a node pulls an image of a host,
// such as registry.auth.test:5001. An empty user takes the demand back. Pushes need no login.
func (c *Cluster) RequireLogin(host, user, password string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return registry.RequireLogin(c.registry(), host, user, password)
}

// RegistryLog is the path of the registry's access log: a line a request, with method, path (the host first) and status.
func (c *Cluster) RegistryLog() string { return c.log(ImageRegistry) }

// BuildStatic compiles a main package of this module (or any that the go command knows here) into a static
// program for Linux on this machine's architecture.
func BuildStatic(ctx context.Context, pkg, output string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", output, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// pushPause builds the sandbox image and pushes it.
func (c *Cluster) pushPause(ctx context.Context) error {
	program := filepath.Join(c.dir, "bin", "pause")
	if err := BuildStatic(ctx, helperPackage+"/pause", program); err != nil {
		return err
	}
	return c.PushBinaryImage(ctx, oci.Spec{
		Files: map[string]string{"/pause": program}, Entrypoint: []string{"/pause"}, User: "65535:65535",
	}, pauseImage)
}
