package logging_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/internal/logging"
)

func TestQueueKeepsLinesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		queue := logging.NewQueue(&out, func() { t.Error("a line is lost") })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- queue.Run(ctx) }()
		var want strings.Builder
		for i := range 1000 {
			line := fmt.Sprintf("line %d\n", i)
			want.WriteString(line)
			if n, err := queue.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatalf("wrote %d: %v", n, err)
			}
			if i == 500 {
				synctest.Wait()
				if out.String() != want.String() {
					t.Error("lines wait although nothing hinders them")
				}
			}
		}
		stop()
		if err := <-done; err != nil || out.String() != want.String() {
			t.Errorf("%v; %d of %d bytes are written", err, out.Len(), want.Len())
		}
	})
}

// stuck is a pipe that nobody reads.
type stuck chan struct{}

func (s stuck) Write(p []byte) (int, error) {
	<-s
	return len(p), nil
}

func TestQueueNeverWaitsForAStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe, lost := make(stuck), 0
		queue := logging.NewQueue(pipe, func() { lost++ })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- queue.Run(ctx) }()
		line := bytes.Repeat([]byte("x"), 1<<10)
		_, _ = queue.Write(line)
		synctest.Wait() // the first line is stuck in the pipe
		start := time.Now()
		for range 1 << 10 {
			_, _ = queue.Write(line)
		}
		if lost != 0 {
			t.Errorf("%d lines are lost of what there is room for", lost)
		}
		for range 10 {
			if n, err := queue.Write(line); n != len(line) || err != nil {
				t.Errorf("wrote %d: %v", n, err)
			}
		}
		if lost != 10 || time.Since(start) != 0 {
			t.Errorf("%d lines are lost after %s, want 10 at once", lost, time.Since(start))
		}
		stop()
		if err := <-done; err != nil || time.Since(start) != time.Second {
			t.Errorf("stopped after %s: %v", time.Since(start), err)
		}
		close(pipe) // so that the bubble ends
	})
}

// Lines cost no memory of their own once the buffers have grown.
func TestQueueAllocatesNothing(t *testing.T) {
	var out bytes.Buffer
	queue := logging.NewQueue(&out, func() {})
	line := []byte(strings.Repeat("x", 300) + "\n")
	if n := testing.AllocsPerRun(1000, func() { _, _ = queue.Write(line) }); n > 0.05 {
		t.Errorf("%v allocations a line", n)
	}
}
