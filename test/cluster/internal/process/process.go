// Package process starts programs that outlive their starter and finds them again. A program carries the
// folder of its cluster and its own name in its environment, which it and its children keep for life: what is
// found by that mark is ours beyond doubt, whatever happened to pid files, pids or the process that started it.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	defer log.Close()
	path, err := LookPath(s.Args[0])
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	args := append([]string{path}, s.Args[1:]...)
	if len(s.CgroupProcs) > 0 {
		// a shell that moves itself and becomes the program: the program never runs a moment outside
		script := ""
		for _, f := range s.CgroupProcs {
			script += fmt.Sprintf("echo $$ > %s || exit 70\n", shellQuote(f))
		}
		args = append([]string{"/bin/sh", "-c", script + `exec "$0" "$@"`}, args...)
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

// Find lists the running processes of an owner. Without a name it lists all, otherwise those whose name is
// given or lies below it: "node1" finds "node1/kubelet".
func Find(owner, name string) ([]Proc, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("reading /proc: %w", err)
	}
	var found []Proc
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue // gone, or of another user and so not ours
		}
		p, ok := parseMarks(env, owner)
		if !ok || name != "" && p.Name != name && !strings.HasPrefix(p.Name, name+"/") {
			continue
		}
		p.PID, p.Leader = pid, sessionLeader(pid)
		found = append(found, p)
	}
	return found, nil
}

// parseMarks reads the marks from the content of /proc/PID/environ. A zombie's is empty, so it is not found.
func parseMarks(env []byte, owner string) (Proc, bool) {
	var p Proc
	owned := false
	for _, kv := range bytes.Split(env, []byte{0}) {
		key, value, _ := bytes.Cut(kv, []byte("="))
		switch string(key) {
		case ownerMark:
			owned = string(value) == owner
		case nameMark:
			p.Name = string(value)
		}
	}
	return p, owned
}

// sessionLeader says whether a process is the one that Start began: it leads a session, and what it starts in
// turn does so only when it is a daemon itself (a containerd shim has a process group of its own, no session).
func sessionLeader(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return parseSession(stat) == pid
}

// parseSession reads the sixth field of /proc/PID/stat. The second is the program's name in brackets and may
// itself hold spaces and brackets, so counting begins after the last one.
func parseSession(stat []byte) int {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 4 {
		return -1
	}
	session, err := strconv.Atoi(fields[3])
	if err != nil {
		return -1
	}
	return session
}

// Stop ends processes: SIGTERM, then SIGKILL to what is left after grace; with no grace SIGKILL at once. list is
// asked again each time, so what they start meanwhile is ended as well. It fails if some outlive SIGKILL.
func Stop(list func() ([]Proc, error), grace time.Duration) error {
	const killed = 5 * time.Second // a process that survives SIGKILL this long hangs in the kernel
	if grace > 0 {
		if done, err := signalUntilGone(list, syscall.SIGTERM, grace); done || err != nil {
			return err
		}
	}
	done, err := signalUntilGone(list, syscall.SIGKILL, killed)
	if err != nil || done {
		return err
	}
	left, err := list()
	if err != nil || len(left) == 0 {
		return err
	}
	return fmt.Errorf("stopping processes: %v outlived SIGKILL", left)
}

// signalUntilGone sends sig once to every process that list shows, also those that appear later, until none is left.
func signalUntilGone(list func() ([]Proc, error), sig syscall.Signal, limit time.Duration) (bool, error) {
	const poll = 20 * time.Millisecond
	sent := map[int]bool{}
	for deadline := time.Now().Add(limit); ; time.Sleep(poll) {
		procs, err := list()
		if err != nil {
			return false, err
		}
		if len(procs) == 0 {
			return true, nil
		}
		for _, p := range procs {
			if sent[p.PID] {
				continue
			}
			sent[p.PID] = true
			if err := syscall.Kill(p.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				return false, fmt.Errorf("ending process %d (%s): %w", p.PID, p.Name, err)
			}
		}
		if time.Now().After(deadline) {
			return false, nil
		}
	}
}
