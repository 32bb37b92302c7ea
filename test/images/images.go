// Package images has the container images that tests run: small, static, each with /bin/busybox (also as /bin/sh)
// and a writable /tmp, ending at once on SIGTERM.
package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fairlead-io/fairlead/internal/oci"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// The names of the images.
const (
	// Web answers every request on port 8080 with its tag: v1, v2 or v3. As of every repository, the newest is also stable:
	// a second tag with the same digest.
	Web = "bank.test/web"
	// Tool only waits; it has the tags v1 to v3.
	Tool = "bank.test/tool"
	// Empty only waits; v1.
	Empty = "bank.test/empty"
	// Job ends well after ten seconds; v1 to v3.
	Job = "bank.test/job"
	// Crash ends with 1 after two seconds; v1.
	Crash = "bank.test/crash"
	// Model is there to be referenced, and waits if it is run; v1.
	Model = "bank.test/model"
)

// image is a repository with what its program does and how many tags, v1 to vN, it has.
type image struct {
	repository string
	arguments  []string
	versions   int
}

var all = []image{
	{Web, []string{"web"}, 3},
	{Tool, []string{"wait"}, 3},
	{Empty, []string{"wait"}, 1},
	{Job, []string{"exit", "10s", "0"}, 3},
	{Crash, []string{"exit", "2s", "1"}, 1},
	{Model, []string{"wait"}, 1},
}

// spec is the image of one tag. The tag is in the environment, so every tag is an image of its own.
func (i image) spec(program, tag string) oci.Spec {
	return oci.Spec{
		Files:      map[string]string{"/app": program, "/bin/busybox": cluster.Busybox},
		Links:      map[string]string{"/bin/sh": "busybox"},
		Entrypoint: append([]string{"/app"}, i.arguments...),
		Env:        []string{"VERSION=" + tag},
		Labels:     map[string]string{"org.opencontainers.image.title": i.repository, "org.opencontainers.image.version": tag},
	}
}

// PushAll builds every image with every tag and pushes them to the cluster's registry.
func PushAll(ctx context.Context, c *cluster.Cluster) (err error) {
	dir, err := os.MkdirTemp("", "fairlead-images-")
	if err != nil {
		return fmt.Errorf("making a folder for the images' program: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "app")
	if err = cluster.BuildStatic(ctx, "github.com/fairlead-io/fairlead/test/images/app", program); err != nil {
		return err
	}
	for _, i := range all {
		for v := 1; v <= i.versions; v++ {
			tag := fmt.Sprintf("v%d", v)
			references := []string{i.repository + ":" + tag}
			if v == i.versions {
				references = append(references, i.repository+":stable")
			}
			if err = c.PushBinaryImage(ctx, i.spec(program, tag), references...); err != nil {
				return err
			}
		}
	}
	return nil
}
