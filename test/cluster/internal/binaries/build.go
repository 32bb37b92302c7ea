package binaries

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// heartbeat is how often a long build says that it lives: often enough that nobody takes it for stuck.
const heartbeat = 15 * time.Second

// build makes the programs that are missing and moves each into place when it is whole.
func (r recipe) build(ctx context.Context, cacheDir string, log io.Writer) error {
	out := filepath.Join(cacheDir, r.folder())
	work := filepath.Join(out, "build")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return fmt.Errorf("making the cache folder: %w", err)
	}
	say(log, "building %s once, into %s", r, out)
	if r.Module != "" {
		if err := writeModule(ctx, work, r.Version, log); err != nil {
			return err
		}
	}
	for i, p := range r.Programs {
		target := filepath.Join(out, p.Name)
		if _, err := os.Stat(target); err == nil {
			continue
		}
		label := fmt.Sprintf("building %s (%d of %d)", p.Name, i+1, len(r.Programs))
		if err := r.buildOne(ctx, work, p, label, log); err != nil {
			return fmt.Errorf("building %s of %s: %w", p.Name, r, err)
		}
		if err := os.Rename(filepath.Join(work, "out", p.Name), target); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(work, "out"))
}

func (r recipe) buildOne(ctx context.Context, work string, p program, label string, log io.Writer) error {
	out := filepath.Join(work, "out")
	progress := &progress{label: label, log: log, start: time.Now()}
	stop := progress.tick()
	defer stop()
	if r.Module == "" {
		_, err := runGo(ctx, work, progress, "install", "-v", "-ldflags", p.LDFlags, p.Package+"@v"+r.Version)
		return err
	}
	_, err := runGo(ctx, work, progress, "build", "-v", "-ldflags", p.LDFlags, "-o", filepath.Join(out, p.Name), p.Package)
	return err
}

// runGo runs the go command in dir, with what the caller's environment could have changed set back. What it
// prints to stderr goes to progress line by line (nil: nowhere), and its end into the error. What it prints to
// stdout is returned also with an error.
func runGo(ctx context.Context, dir string, progress *progress, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// mod=mod writes go.sum as modules are needed, checked against the checksum database; the settings that
	// make the caller's own build special (a vendor folder, a workspace) do not belong here
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOBIN="+filepath.Join(dir, "out"), "GOOS=", "GOARCH=")
	if len(args) > 0 && args[0] == "install" {
		cmd.Env = append(cmd.Env, "GOFLAGS=")
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second // go removes its work folder on an interrupt; give it the time
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	cmd.Stderr = io.MultiWriter(&stderr, progress.lines())
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("the go command is not on the PATH: install Go")
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return stdout.Bytes(), fmt.Errorf("running go %s: %w\n%s", args[0], err, tail(stderr.String(), 20))
	}
	return stdout.Bytes(), nil
}

// tail returns the last n lines of s.
func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// say reports progress. That nobody can be told is no reason to stop a build.
func say(log io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(log, format+"\n", args...) }

// progress counts the packages that `go build -v` names and reports them from time to time.
type progress struct {
	label    string
	log      io.Writer
	start    time.Time
	packages atomic.Int64
}

// lines returns a writer that counts packages; each line of `go build -v` is one.
func (p *progress) lines() io.Writer {
	if p == nil {
		return io.Discard
	}
	return lineCounter{p}
}

type lineCounter struct{ p *progress }

func (l lineCounter) Write(b []byte) (int, error) {
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		if !strings.HasPrefix(s.Text(), "go: ") {
			l.p.packages.Add(1)
		}
	}
	return len(b), nil
}

// tick reports the start, then every heartbeat, until the returned function is called.
func (p *progress) tick() (stop func()) {
	say(p.log, "%s", p.label)
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		t := time.NewTicker(heartbeat)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				say(p.log, "%s: %d packages compiled, %s", p.label, p.packages.Load(), time.Since(p.start).Round(time.Second))
			}
		}
	}()
	return func() { close(done); <-stopped }
}
