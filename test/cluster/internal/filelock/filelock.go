// Package filelock serialises work between processes with an advisory lock on a file.
package filelock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// poll is how often a busy lock is tried again; the work under it lasts seconds or minutes.
const poll = 100 * time.Millisecond

// Lock takes the exclusive lock on path, creating the file and its folder, and waits while another process (or
// another call in this one) has it. onWait, which may be nil, is called once when it has to wait. The kernel
// frees the lock when the holder dies, so a crash leaves nothing behind; the file itself stays, because
// removing it would let two processes hold locks on two files of the same name.
func Lock(ctx context.Context, path string, onWait func()) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the lock: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	for waited := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if !waited && onWait != nil {
			onWait()
		}
		waited = true
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(poll):
		}
	}
}
