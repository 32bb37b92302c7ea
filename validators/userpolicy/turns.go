package userpolicy

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// ErrBusy says that so many requests wait for policies that another would only wait in vain.
var ErrBusy = errors.New("too many requests wait for policies")

const (
	// mostWaiting and mostWaitingForOne bound how many requests wait for their turn, of all sets and of one. They are far
	// below what the server has at once (600), so that requests that no policy concerns are never turned away for them.
	mostWaiting       = 200
	mostWaitingForOne = 100
)

// turns bound how many evaluations run at once: fewer than there are CPUs, so that rules that take long leave one to the
// requests that no policy concerns, but two at least. A set that is slow takes at most half of the turns from the others.
type turns struct {
	free chan struct{}
	each int

	mu      sync.Mutex
	waiting int
	sets    map[string]*ofSet
}

// ofSet is what a set has of the turns.
type ofSet struct {
	free    chan struct{}
	waiting int
	// users are the requests that hold it.
	users int
}

func newTurns() *turns {
	return turnsOn(runtime.GOMAXPROCS(0))
}

// turnsOn are those for so many CPUs.
func turnsOn(cpus int) *turns {
	n := max(2, cpus-1)
	return &turns{free: make(chan struct{}, n), each: n / 2, sets: make(map[string]*ofSet)}
}

// take waits for a turn and returns what ends it.
func (t *turns) take(ctx context.Context, set string) (done func(), err error) {
	own, err := t.enter(set)
	if err != nil {
		return nil, err
	}
	for _, step := range []chan struct{}{own.free, t.free} {
		select {
		case step <- struct{}{}:
		case <-ctx.Done():
			if step == t.free {
				<-own.free
			}
			t.leave(set, own, true)
			return nil, ctx.Err()
		}
	}
	t.started(own)
	return func() {
		<-t.free
		<-own.free
		t.leave(set, own, false)
	}, nil
}

func (t *turns) enter(set string) (*ofSet, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.sets[set]
	if t.waiting >= mostWaiting || own != nil && own.waiting >= mostWaitingForOne {
		return nil, ErrBusy
	}
	if own == nil {
		own = &ofSet{free: make(chan struct{}, t.each)}
		t.sets[set] = own
	}
	t.waiting++
	own.waiting++
	own.users++
	return own, nil
}

func (t *turns) started(own *ofSet) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting--
	own.waiting--
}

func (t *turns) leave(set string, own *ofSet, waited bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if waited {
		t.waiting--
		own.waiting--
	}
	if own.users--; own.users == 0 {
		delete(t.sets, set)
	}
}
