package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/fairlead-io/fairlead/internal/tools/release/artifact"
)

// lister writes the bill of materials of a program.
type lister func(ctx context.Context, root, version, program string) ([]byte, error)

// materials lists the modules that are in a program, from what Go recorded in it, as CycloneDX in JSON. It has no serial
// number and no time, which would differ in each run, and no digests of the tool, which differ between machines.
func materials(ctx context.Context, root, version, program string) ([]byte, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, fmt.Errorf("finding the program: %w", err)
	}
	const tool = "cyclonedx-gomod"
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile="+filepath.Join("internal", "tools", tool, "go.mod"), tool,
		"bin", "-json", "-std", "-noserial", "-notimestamp", "-version", "v"+version, program)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("listing what is in %s: %w\n%s", filepath.Base(program), err, stderr.Bytes())
	}
	return artifact.WithoutToolDigests(stdout.Bytes())
}
