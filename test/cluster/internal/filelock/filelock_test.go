package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "lock")
	var wg sync.WaitGroup
	var inside, most int
	var mu sync.Mutex
	for i := range 8 {
		wg.Go(func() {
			l, err := Acquire(t.Context(), path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			inside--
			mu.Unlock()
			if i%2 == 0 { // removing must not let two in
				l.Remove()
			} else {
				l.Release()
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d held the lock at once", most)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Acquire(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits := 0
	_, err = Acquire(ctx, path, func() { waits++; cancel() })
	if !errors.Is(err, context.Canceled) || waits != 1 {
		t.Errorf("error %v after %d calls", err, waits)
	}
	l.Remove()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}
