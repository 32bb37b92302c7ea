// Package process runs a program under measurement, and tells what it has used.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Process is a program that runs. It ends with the one that started it.
type Process struct {
	cmd *exec.Cmd
	log string
}

// Start starts a program whose output goes into a file.
func Start(log string, argv ...string) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &Process{cmd: exec.Command(argv[0], argv[1:]...), log: log}
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	return p, nil
}

// Stop kills it.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// clockOfProcess and clockBits make a process id the id of the clock that counts its CPU time (clock_getcpuclockid(3)).
const clockBits, clockOfProcess = 3, 2

// CPU is the user and system time that it has spent, to the nanosecond: /proc has it in ticks of 10 ms.
func (p *Process) CPU() (time.Duration, error) {
	var spent syscall.Timespec
	clock := uintptr(^p.cmd.Process.Pid<<clockBits | clockOfProcess)
	if _, _, failure := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&spent)), 0); failure != 0 {
		return 0, fmt.Errorf("reading the CPU time of a process (its last words: %s): %w", p.lastWords(), failure)
	}
	return time.Duration(spent.Nano()), nil
}

func (p *Process) lastWords() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	const enough = 1000
	return string(data[max(0, len(data)-enough):])
}

// RSS is its resident memory in bytes.
func (p *Process) RSS() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
