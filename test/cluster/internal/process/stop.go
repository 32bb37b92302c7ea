package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

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
