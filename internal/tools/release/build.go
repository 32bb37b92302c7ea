package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// compiler builds the program of a version for a platform. root is the top folder of the module.
type compiler func(ctx context.Context, root, version string, p platform, output string) error

const (
	program = "./cmd/fairlead"
	// versionSymbol is what `fairlead version` prints.
	versionSymbol = "github.com/fairlead-io/fairlead/internal/version.version"
)

// compile builds the program with the go command, static and without anything of this machine in it. Nor does it hold what
// Go would record of git, which depends on the tags that a clone has; the image names the commit.
func compile(ctx context.Context, root, version string, p platform, output string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X "+versionSymbol+"=v"+version, "-o", output, program)
	cmd.Dir = root
	// the caller's own flags, workspace and processor level would show in the program
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=", "GOWORK=off", "GOAMD64=", "GOARM64=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program for %s: %w\n%s", p, err, out)
	}
	return nil
}
