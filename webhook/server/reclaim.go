package server

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// reclaimFrom is the body size from which a request leaves enough garbage to be worth collecting.
	reclaimFrom = 1 << 20
	// reclaimAfter is how long after a large body its memory goes back to the operating system. Without it a burst of
	// large reviews followed by quiet keeps the process at its peak until the runtime's next forced collection, two
	// minutes later, and its memory limit too close all the while. Under steady load it costs one collection in this time.
	reclaimAfter = 10 * time.Second
)

// reclaimer gives memory back after large requests.
type reclaimer struct {
	armed atomic.Bool
	free  func()
}

func newReclaimer() *reclaimer { return &reclaimer{free: debug.FreeOSMemory} }

// noteLarge arranges for a collection, unless one is due already.
func (r *reclaimer) noteLarge() {
	if r.armed.Swap(true) {
		return
	}
	time.AfterFunc(reclaimAfter, func() {
		r.armed.Store(false)
		r.free()
	})
}
