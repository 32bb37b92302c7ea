// Package bell wakes a loop that looks at the world by itself: it carries no news but that there may be some, so that
// any number of rings before the loop comes round are one.
package bell

import "k8s.io/client-go/tools/cache"

// Bell is received from by one loop.
type Bell chan struct{}

// New makes a bell that is silent.
func New() Bell { return make(Bell, 1) }

// Ring wakes the loop, now or as soon as it comes round. It never blocks.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// OnEvents returns an informer's handler that rings at every event.
func (b Bell) OnEvents() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { b.Ring() },
		UpdateFunc: func(any, any) { b.Ring() },
		DeleteFunc: func(any) { b.Ring() },
	}
}
