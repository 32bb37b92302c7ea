// Package filelock serialises work between processes with an advisory lock on a file.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// poll is how often a busy lock is tried again; the work under it lasts seconds or minutes.
const poll = 100 * time.Millisecond

// Lock is a held lock. The kernel frees it when the holder dies, so a crash leaves at most the file behind.
type Lock struct{ file *os.File }

// Acquire takes the exclusive lock on path, creating the file and its folder, and waits while another process (or
// another call in this one) has it. onWait, which may be nil, is called once when it has to wait.
func Acquire(ctx context.Context, path string, onWait func()) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the lock: %w", err)
	}
	for waited := false; ; waited = true {
		lock, err := try(path)
		if lock != nil || err != nil {
			return lock, err
		}
		if !waited && onWait != nil {
			onWait()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(poll):
		}
	}
}

// try returns nil without an error when somebody else has the lock.
func try(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && isAt(f, path) {
		return &Lock{file: f}, nil
	}
	_ = f.Close() // nothing was written
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, fmt.Errorf("locking %s: %w", path, err)
}

// isAt says whether path still names the open file: its last holder may have removed it between our opening and
// locking it, and then somebody else may already hold a new file of that name.
func isAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

// Release frees the lock.
func (l *Lock) Release() { _ = l.file.Close() }

// Remove frees the lock and removes its file.
func (l *Lock) Remove() {
	_ = os.Remove(l.file.Name()) // a file that stays behind locks nobody out
	_ = l.file.Close()
}
