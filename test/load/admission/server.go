package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU time in /proc/PID/stat: USER_HZ, 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// server is a process under measurement.
type server struct {
	name, url string
	cmd       *exec.Cmd
	log       string
}

// start runs a server and waits until it answers.
func start(ctx context.Context, dir, name, url string, argv ...string) (*server, error) {
	s := &server{name: name, url: url, log: filepath.Join(dir, name+".log")}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return s, s.awaitReady(ctx)
}

func (s *server) awaitReady(ctx context.Context) error {
	client := newClient(1)
	defer client.CloseIdleConnections()
	for {
		if err := post(ctx, client, s.url, newReview("probe")); err == nil {
			return nil
		} else if ctx.Err() != nil {
			return fmt.Errorf("waiting for %s (see %s): %w", s.name, s.log, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// cpu is the user and system time that the process has spent.
func (s *server) cpu() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The second field, the command, may hold spaces; fields 14 and 15 count from the first.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick, err
}

// rss is the resident memory in bytes.
func (s *server) rss() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
