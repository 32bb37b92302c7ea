package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// tree is what a release is made of.
type tree struct {
	// root is the top folder of the module.
	root string
	// version has no v before it.
	version string
	// modified is the time that every file of the release has: SOURCE_DATE_EPOCH, or when the commit was made.
	modified time.Time
	// revision is the commit.
	revision string
}

// readTree asks git about the tree that the working folder is in. version and epoch may be empty.
func readTree(ctx context.Context, version, epoch string) (*tree, error) {
	root, err := git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	commit, err := git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	t := &tree{root: root}
	revision, committed, _ := strings.Cut(commit, " ")
	t.revision = revision
	if epoch == "" {
		epoch = committed
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reading SOURCE_DATE_EPOCH: want seconds since 1970: %w", err)
	}
	t.modified = time.Unix(seconds, 0).UTC()
	if version == "" {
		version, err = describe(ctx)
	}
	if err == nil {
		t.version, err = parseVersion(version)
	}
	return t, err
}

// describe makes a version of the commit's place in the history.
func describe(ctx context.Context) (string, error) {
	count, err := git(ctx, "rev-list", "--count", "HEAD")
	if err != nil {
		return "", err
	}
	short, err := git(ctx, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	changes, err := git(ctx, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", err
	}
	// without a tag git describe fails, and the version is one before the first
	described, _ := git(ctx, "describe", "--tags", "--long", "--abbrev=12", "--match", "v[0-9]*")
	return versionOf(described, count, short, changes != "")
}

func git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("running git %s: %w", args[0], errors.Join(err, errors.New(strings.TrimSpace(stderr.String()))))
	}
	return strings.TrimSpace(stdout.String()), nil
}
