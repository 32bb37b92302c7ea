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
	"unsafe"
)

// server is a process under measurement.
type server struct {
	name     string
	exchange exchange
	cmd      *exec.Cmd
	log      string
}

// start runs a server and waits until it answers.
func start(ctx context.Context, dir, name string, e exchange, argv ...string) (*server, error) {
	s := &server{name: name, exchange: e, log: filepath.Join(dir, name+".log")}
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
	if err := s.awaitReady(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) awaitReady(ctx context.Context) error {
	client := newClient(1)
	defer client.CloseIdleConnections()
	for {
		if err := s.exchange.post(ctx, client); err == nil {
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

// processClock makes a process id the id of the clock that counts its CPU time (clock_getcpuclockid(3)).
const processClockBits, processClock = 3, 2

// cpu is the user and system time that the process has spent, to the nanosecond: /proc has it in ticks of 10 ms.
func (s *server) cpu() (time.Duration, error) {
	var spent syscall.Timespec
	clock := uintptr(^s.cmd.Process.Pid<<processClockBits | processClock)
	if _, _, failure := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&spent)), 0); failure != 0 {
		return 0, fmt.Errorf("reading the CPU time of %s: %w", s.name, failure)
	}
	return time.Duration(spent.Nano()), nil
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
