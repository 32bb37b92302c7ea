package replica

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

const (
	// growth is how much is allocated at least from one collection of garbage to the next. The live heap of a replica with
	// few SidecarSets is some 5 MiB; by the runtime's own rule, which is to double it, there would be a collection every few
	// hundred reviews, and with this there is one every two thousand, for 20 MiB of memory and what fragmentation adds.
	growth = 20 << 20
	// growthPercent is by how much a large live heap grows instead. The runtime's own 100 would take twice the memory for
	// what is mostly text, which a collection does not walk.
	growthPercent = 50
	// leastLive keeps the arithmetic in bounds before the first collection.
	leastLive = 1 << 20
)

// pacer adjusts the collector's target after each collection: what is live changes when lists arrive and policies come
// and go. GOMEMLIMIT, if it is set, counts whatever the pacer says.
type pacer struct {
	stopped atomic.Bool
	percent atomic.Int64
}

// paced runs fn with a pacer in place. asked is GOGC: who sets it has chosen how often to collect, and the runtime has heeded that
// already.
func paced(asked string, fn func() error) error {
	if asked != "" {
		return fn()
	}
	p := &pacer{}
	before := debug.SetGCPercent(percent(liveHeap()))
	p.arm()
	defer func() {
		p.stopped.Store(true)
		debug.SetGCPercent(before)
	}()
	return fn()
}

// sentinel dies with the next collection, which tells that there was one.
type sentinel struct{ pacer *pacer }

func (p *pacer) arm() {
	runtime.AddCleanup(&sentinel{p}, func(p *pacer) {
		if !p.stopped.Load() {
			p.adjust()
			p.arm()
		}
	}, p)
}

// adjust sets the target if it is a tenth off: setting it stops the world for a moment.
func (p *pacer) adjust() {
	wanted, current := int64(percent(liveHeap())), p.percent.Load()
	if off := wanted - current; 10*max(off, -off) > current {
		p.percent.Store(wanted)
		debug.SetGCPercent(int(wanted))
	}
}

// percent is GOGC for a live heap.
func percent(live uint64) int {
	return int(max(growthPercent, 100*growth/max(live, leastLive)))
}

// liveHeap is the size in bytes of what the last collection left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
