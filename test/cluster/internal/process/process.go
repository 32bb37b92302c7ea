// Package process starts programs that outlive their starter and finds them again. A program carries the
// folder of its cluster and its own name in its environment, which it and its children keep for life: what is
// found by that mark is ours beyond doubt, whatever happened to pid files, pids or the process that started it.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// The names of the marks in a program's environment.
const (
	ownerMark = "FAIRLEAD_CLUSTER_OWNER"
	nameMark  = "FAIRLEAD_CLUSTER_PROCESS"
)

// Spec says how to start a program.
type Spec struct {
	// Name is unique within the owner, such as "kube-apiserver" or "node1/kubelet".
	Name string
	Args []string
	// Env is added to PATH and HOME, which are all that a program inherits.
	Env []string
	// Log is the file that its output is appended to.
	Log string
	// CgroupProcs are cgroup.procs files that the process is put into before the program begins, so that its
	// children are born there.
	CgroupProcs []string
}

// Proc is a running process of an owner. Children of a program carry its name too.
type Proc struct {
	PID  int
	Name string
	// Leader is true for the program that was started, false for what it started in turn.
	Leader bool
}

// Start runs a program in a session of its own, so that a terminal's interrupt does not reach it, and returns
// a channel that is closed when it ends.
func Start(owner string, s Spec) (<-chan struct{}, error) {
	if err := os.MkdirAll(filepath.Dir(s.Log), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the log: %w", err)
	}
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = log.Close() }() // the program has it open itself
	path, err := LookPath(s.Args[0])
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	args := append([]string{path}, s.Args[1:]...)
	if len(s.CgroupProcs) > 0 {
		// a shell that moves itself and becomes the program: the program never runs a moment outside
		var script strings.Builder
		for _, f := range s.CgroupProcs {
			fmt.Fprintf(&script, "echo $$ > %s || exit 70\n", shellQuote(f))
		}
		script.WriteString(`exec "$0" "$@"`)
		args = append([]string{"/bin/sh", "-c", script.String()}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append([]string{
		"PATH=" + searchPath(), "HOME=" + os.Getenv("HOME"), ownerMark + "=" + owner, nameMark + "=" + s.Name,
	}, s.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log; here only the zombie has to go
		close(ended)
	}()
	return ended, nil
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
