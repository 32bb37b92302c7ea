package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// profileAddress is where the controllers serve profiles.
const profileAddress = "127.0.0.1:9520"

// process is the controllers under measurement.
type process struct {
	cmd *exec.Cmd
	log string
}

// startControllers builds the program and starts it as the chart does, with the wanted limits and without a leader
// election, which would only delay the start.
func startControllers(ctx context.Context, w *world) (*process, error) {
	program := filepath.Join(w.dir, "fairlead")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/fairlead")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building fairlead: %w", err)
	}
	p := &process{log: filepath.Join(w.dir, "controllers.log")}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(program, "controllers", "--kubeconfig", w.Kubeconfig(), "--enable-leader-election=false",
		"--feature-gates=PodWebhook=false", // nobody admits Pods here, for which their creation would wait
		"--metrics-addr=0", "--health-probe-addr=0", "--pprof-addr="+profileAddress,
		"--rest-config-qps="+strconv.Itoa(w.qps), "--rest-config-burst="+strconv.Itoa(w.burst))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the controllers: %w", err)
	}
	return p, nil
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// processClock makes a process id the id of the clock that counts its CPU time (clock_getcpuclockid(3)).
const processClockBits, processClock = 3, 2

// cpu is the user and system time that the process has spent.
func (p *process) cpu() (time.Duration, error) {
	var spent syscall.Timespec
	clock := uintptr(^p.cmd.Process.Pid<<processClockBits | processClock)
	if _, _, failure := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&spent)), 0); failure != 0 {
		return 0, fmt.Errorf("reading the CPU time of the controllers (their last words: %s): %w", p.lastWords(), failure)
	}
	return time.Duration(spent.Nano()), nil
}

func (p *process) lastWords() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	const enough = 1000
	return string(data[max(0, len(data)-enough):])
}

// rss is the resident memory in MiB.
func (p *process) rss() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	return pages * int64(os.Getpagesize()) >> 20, err
}

// profile writes a CPU profile of the process into a file while do runs. Its length must be said before: it is cut off
// when do ends later.
func (p *process) profile(ctx context.Context, dir, name string, length time.Duration, do func() error) error {
	if dir == "" {
		return do()
	}
	failed := make(chan error, 1)
	go func() { failed <- fetchProfile(ctx, filepath.Join(dir, name+".pprof"), length) }()
	if err := do(); err != nil {
		return err
	}
	return <-failed
}

func fetchProfile(ctx context.Context, path string, length time.Duration) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", profileAddress, int(length.Seconds()))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Timeout: length + time.Minute}).Do(req)
	if err != nil {
		return fmt.Errorf("reading a profile: %w", err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("reading a profile: %s: %w", response.Status, err)
	}
	return os.WriteFile(path, data, 0o600)
}
