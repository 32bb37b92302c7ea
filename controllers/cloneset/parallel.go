package cloneset

import (
	"errors"
	"maps"
	"slices"
	"sync"
)

const (
	// atOnce is how many calls are under way at a time. What bounds a sync is the limit of requests to each resource, for
	// which those that are under way wait too; this only keeps it busy, also when the API server takes a second for a call.
	// It lets a hundred be under way on a connection.
	atOnce = 64
	// firstBatch of a slow start: if a Pod cannot be created, one attempt shows it as well as a thousand.
	firstBatch = 1
	// mostAtOnce is what a batch grows to: more than keeps all calls under way busy only delays the end of a share.
	mostAtOnce = 2 * atOnce
)

// slowStart does n things in batches that double from the first, and stops after a batch in which something failed, or
// when it is over. It tells how many succeeded, and with which batch to go on: if all goes well, another sync need not
// begin anew.
func slowStart(n, first int, over func() bool, do func(i int) error) (succeeded, next int, err error) {
	batch := max(first, firstBatch)
	for done := 0; done < n && err == nil && !over(); batch = min(2*batch, mostAtOnce) {
		size := min(batch, n-done)
		start := done
		ok, failed := inParallel(size, over, func(i int) error { return do(start + i) })
		succeeded, err = succeeded+ok, failed
		done += size
	}
	if err != nil || n == 0 {
		batch = firstBatch
	}
	return succeeded, batch, err
}

// inParallel does n things, at most atOnce at a time, in order of their start. After a failure it starts none, and none
// when it is over. It tells how many succeeded; errors are in the order of their start, whatever ended first.
func inParallel(n int, over func() bool, do func(i int) error) (succeeded int, err error) {
	var (
		mutex sync.Mutex
		group sync.WaitGroup
		next  int
		fails = map[int]error{}
	)
	worker := func() {
		for {
			mutex.Lock()
			if next >= n || len(fails) > 0 || over() {
				mutex.Unlock()
				return
			}
			i := next
			next++
			mutex.Unlock()
			failed := do(i)
			mutex.Lock()
			if failed != nil {
				fails[i] = failed
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
	errs := make([]error, 0, len(fails))
	for _, i := range slices.Sorted(maps.Keys(fails)) {
		errs = append(errs, fails[i])
	}
	return succeeded, errors.Join(errs...)
}
