package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/fairlead-io/fairlead/test/cluster/internal/filelock"
)

// helperPackage is the program that serves images and reaps clusters; it is the command line as well.
const helperPackage = "github.com/fairlead-io/fairlead/test/cluster"

// helperProgram returns the path of the helper, built into the cache unless one is given.
func helperProgram(ctx context.Context, given, cache string) (string, error) {
	if given != "" {
		return given, nil
	}
	path := filepath.Join(cache, "helper", "cluster")
	lock, err := filelock.Acquire(ctx, path+".lock", nil)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, helperPackage).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the cluster's helper (run this from within the module): %w\n%s", err, out)
	}
	return path, nil
}

// copyProgram copies an executable, so that it stays what it is while the cluster runs: `go run` deletes its own,
// and a later build replaces the cached one.
func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		return fmt.Errorf("copying the helper: %w", err)
	}
	return nil
}

// reaper is a process that stops the cluster when this one ends without doing so: by a signal, a panic of the
// test binary, its time-out. It knows from a pipe, whose other end the kernel closes with us.
type reaper struct {
	stdin io.WriteCloser
	cmd   *exec.Cmd
}

// dismissed is what tells the reaper that there is nothing to do.
const dismissed = "dismissed"

func startReaper(helper, name, root string) (*reaper, error) {
	cmd := exec.Command(helper, "reap", "--name", name, "--state-root", root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt at the terminal is not for it
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the reaper: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the reaper: %w", err)
	}
	return &reaper{stdin: stdin, cmd: cmd}, nil
}

// dismiss ends the reaper without stopping the cluster.
func (r *reaper) dismiss() {
	if r == nil {
		return
	}
	_, _ = io.WriteString(r.stdin, dismissed) // if it is gone already, that is what is wanted
	_ = r.stdin.Close()
	_ = r.cmd.Wait()
}

// Reap is the reaper's work: it waits until stdin ends and then stops the cluster, unless it was dismissed.
func Reap(stdin io.Reader, name, stateRoot string) error {
	message, err := io.ReadAll(stdin)
	if err != nil {
		return fmt.Errorf("waiting for the end of the starter: %w", err)
	}
	if string(message) == dismissed {
		return nil
	}
	c, err := Attach(name, stateRoot, io.Discard)
	if err != nil {
		return err
	}
	return c.Stop()
}
