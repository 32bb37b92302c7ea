package perturb

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// firstRetry and longestRetry are the delays of controller-runtime's queues.
	firstRetry   = 5 * time.Millisecond
	longestRetry = 1000 * time.Second
)

// queue is a controller's work queue by the run's clock.
type queue struct {
	now      func() time.Time
	ready    []reconcile.Request
	delayed  map[reconcile.Request]time.Time
	failures map[reconcile.Request]int
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = &queue{}

func newQueue(now func() time.Time) *queue {
	return &queue{now: now, delayed: map[reconcile.Request]time.Time{}, failures: map[reconcile.Request]int{}}
}

func (q *queue) Add(r reconcile.Request) {
	if !slices.Contains(q.ready, r) {
		q.ready = append(q.ready, r)
	}
}

func (q *queue) AddAfter(r reconcile.Request, after time.Duration) {
	if after <= 0 {
		q.Add(r)
		return
	}
	if at, is := q.delayed[r]; !is || q.now().Add(after).Before(at) {
		q.delayed[r] = q.now().Add(after)
	}
}

func (q *queue) AddRateLimited(r reconcile.Request) {
	delay := longestRetry
	if n := q.failures[r]; n < 20 { // 2 to the 20th times the first is beyond the longest
		delay = min(delay, firstRetry<<n)
	}
	q.failures[r]++
	q.AddAfter(r, delay)
}

func (q *queue) Forget(r reconcile.Request)          { delete(q.failures, r) }
func (q *queue) NumRequeues(r reconcile.Request) int { return q.failures[r] }
func (q *queue) Len() int                            { return len(q.ready) }
func (q *queue) Done(reconcile.Request)              {}
func (q *queue) ShutDown()                           {}
func (q *queue) ShutDownWithDrain()                  {}
func (q *queue) ShuttingDown() bool                  { return false }

// Get takes the next request; true if there is none now.
func (q *queue) Get() (r reconcile.Request, none bool) {
	for request, at := range q.delayed {
		if !at.After(q.now()) {
			delete(q.delayed, request)
			q.Add(request)
		}
	}
	if len(q.ready) == 0 {
		return r, true
	}
	slices.SortFunc(q.ready, func(a, b reconcile.Request) int { return cmp.Compare(a.String(), b.String()) })
	r = q.ready[0]
	q.ready = q.ready[1:]
	return r, false
}

// next is when a delayed request is due, zero if none is.
func (q *queue) next() (next time.Time) {
	for _, at := range q.delayed {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// after does what controller-runtime does with the result of a reconcile.
func (q *queue) after(r reconcile.Request, result reconcile.Result, err error) {
	switch {
	case err != nil:
		q.AddRateLimited(r)
	case result.RequeueAfter > 0:
		q.Forget(r)
		q.AddAfter(r, result.RequeueAfter)
	default:
		q.Forget(r)
	}
}
