package cloneset

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// TestErrorsAreInOrder has the first of two things fail after the second.
func TestErrorsAreInOrder(t *testing.T) {
	second := make(chan struct{})
	_, err := inParallel(2, func() bool { return false }, func(i int) error {
		if i == 0 {
			<-second
		} else {
			defer close(second)
		}
		return fmt.Errorf("error %d", i)
	})
	if err == nil || err.Error() != "error 0\nerror 1" {
		t.Errorf("errors are %v", err)
	}
}

func TestSlowStart(t *testing.T) {
	refused := errors.New("refused")
	never := func() bool { return false }
	for name, tt := range map[string]struct {
		n, first    int
		failsFrom   int32 // the first attempt that fails
		over        func() bool
		tried, done int
		next        int
	}{
		"all at first":                 {7, 0, 100, never, 7, 7, 8},
		"after a sync that went well":  {200, 128, 1000, never, 200, 200, 128},
		"refused at first":             {100, 0, 0, never, 1, 0, 1},
		"refused later":                {100, 0, 3, never, 7, 3, 1},
		"nothing to do":                {0, 64, 100, never, 0, 0, 1},
		"out of time":                  {10, 4, 100, func() bool { return true }, 0, 0, 4},
		"goes on where it had to stop": {3, 4, 100, never, 3, 3, 8},
	} {
		var tried atomic.Int32
		done, next, err := slowStart(tt.n, tt.first, tt.over, func(int) error {
			if tried.Add(1) > tt.failsFrom {
				return refused
			}
			return nil
		})
		// In a batch that fails some attempts are under way already, and some are not begun.
		if failed := int(tt.failsFrom) < tt.n; failed != (err != nil) || int(tried.Load()) > tt.tried || !failed && int(tried.Load()) != tt.tried || done != tt.done || next != tt.next {
			t.Errorf("%s: %d attempts, %d succeeded (%v), next %d; want %d, %d, next %d", name, tried.Load(), done, err, next, tt.tried, tt.done, tt.next)
		}
	}
}
