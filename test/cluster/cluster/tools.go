package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kubectl runs kubectl with all rights on the cluster and returns what it prints. The error has its stderr.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.KubectlInput(ctx, nil, args...)
}

// KubectlInput is Kubectl with an input, for `apply -f -`. A manifest is marked as YAML, of which JSON is a part: kubectl 1.30
// takes what begins with a brace for JSON.
func (c *Cluster) KubectlInput(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	if stdin != nil {
		stdin = io.MultiReader(strings.NewReader("---\n"), stdin)
	}
	return c.run(ctx, stdin, filepath.Join(c.state.Binaries, "kubectl"), args)
}

// Helm runs helm on the cluster and returns what it prints. Its own files are in the cluster's folder.
func (c *Cluster) Helm(ctx context.Context, args ...string) (string, error) {
	return c.run(ctx, nil, c.state.Helm, args)
}

func (c *Cluster) run(ctx context.Context, stdin io.Reader, program string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "HELM_CACHE_HOME="+filepath.Join(c.helm(), "cache"),
		"HELM_CONFIG_HOME="+filepath.Join(c.helm(), "config"), "HELM_DATA_HOME="+filepath.Join(c.helm(), "data"))
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("running %s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Environment lists the variables that a shell needs to use the cluster: KUBECONFIG, and a PATH with its programs.
func (c *Cluster) Environment() []string {
	path := strings.Join([]string{c.state.Binaries, filepath.Dir(c.state.Helm), os.Getenv("PATH")}, string(os.PathListSeparator))
	return []string{"KUBECONFIG=" + c.Kubeconfig(), "PATH=" + path, "FAIRLEAD_REGISTRY=" + c.Registry()}
}
