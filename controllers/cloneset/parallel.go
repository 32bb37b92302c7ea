package cloneset

import (
	"errors"
	"sync"
)

const (
	// atOnce is how many calls are under way at a time. The client's rate limit is what bounds a sync; this only keeps it
	// busy.
	atOnce = 32
	// firstBatch of a slow start: if a Pod cannot be created, one attempt shows it as well as a thousand.
	firstBatch = 1
)

// slowStart does n things in batches that double, and stops after a batch in which something failed, or when it is over.
// It tells how many succeeded.
func slowStart(n int, over func() bool, do func(i int) error) (succeeded int, err error) {
	for done, batch := 0, firstBatch; done < n && err == nil && !over(); batch *= 2 {
		size := min(batch, n-done)
		start := done
		ok, failed := inParallel(size, over, func(i int) error { return do(start + i) })
		succeeded, err = succeeded+ok, failed
		done += size
	}
	return succeeded, err
}

// inParallel does n things, at most atOnce at a time, in order of their start. After a failure it starts none, and none
// when it is over. It tells how many succeeded.
func inParallel(n int, over func() bool, do func(i int) error) (succeeded int, err error) {
	var (
		mutex sync.Mutex
		group sync.WaitGroup
		next  int
		errs  []error
	)
	worker := func() {
		for {
			mutex.Lock()
			if next >= n || len(errs) > 0 || over() {
				mutex.Unlock()
				return
			}
			i := next
			next++
			mutex.Unlock()
			failed := do(i)
			mutex.Lock()
			if failed != nil {
				errs = append(errs, failed)
			} else {
				succeeded++
			}
			mutex.Unlock()
		}
	}
	for range min(n, atOnce) {
		group.Go(worker)
	}
	group.Wait()
	return succeeded, errors.Join(errs...)
}
