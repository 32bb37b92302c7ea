package podunavailablebudget

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// tries is how often a status is written that others write too. All claims that wait in a process are in one write, so
	// that those others are at most the other replicas and the controller, each with one write at a time.
	tries = 12
	// The pause before another try grows from firstPause to longPause, by a random part of it: together about 2 s, well
	// within the 5 s that a request has.
	firstPause, longPause = 10 * time.Millisecond, 300 * time.Millisecond
	// batchTime is below the time that requests have, so that they are still there to be answered.
	batchTime = 4500 * time.Millisecond
)

// Store reads and writes budgets at the API server itself. Its errors are the API server's: NotFound, Conflict.
type Store interface {
	Get(ctx context.Context, name types.NamespacedName) (*Budget, error)
	// UpdateStatus writes the status if the budget still has the resource version that it was read with.
	UpdateStatus(ctx context.Context, budget *Budget) error
}

// Options are what a Checker needs.
type Options struct {
	Store Store
	Clock clock.Clock
	// Random is a number from 0 to 1, other ones at each call.
	Random func() float64
	// ResizeApart is the feature gate InPlacePodVerticalScaling: resizes cost a unit only of budgets that list them.
	ResizeApart bool
}

// Checker takes units from budgets. It is safe for concurrent use, in any number of processes: none of them can take more
// than there is.
type Checker struct {
	Options
	mu sync.Mutex
	// queues are the claims that wait while others of their budget are being served; a budget that is not has none.
	queues map[types.NamespacedName][]*waiting
}

// waiting is a claim with whoever waits for its answer.
type waiting struct {
	Claim
	ctx    context.Context
	answer chan answer
}

type answer struct {
	verdict Verdict
	err     error
}

// NewChecker makes a checker.
func NewChecker(o Options) *Checker {
	return &Checker{Options: o, queues: make(map[types.NamespacedName][]*waiting)}
}

// Check asks whether something may be done to a Pod that makes it unavailable, and takes a unit for it if it needs one. The
// Pod is as it was before. Controllers ask before they update a Pod in place: the write that follows then passes admission,
// because the Pod is in the status. An error is no verdict: the API server did not answer in time, or not usefully.
func (c *Checker) Check(ctx context.Context, pod *corev1.Pod, operation Operation, dryRun bool) (Verdict, error) {
	budget := budgetOf(pod)
	if budget == "" {
		return Verdict{}, nil
	}
	return c.Claim(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: budget},
		Claim{Pod: pod.Name, Labels: pod.Labels, Operation: operation, DryRun: dryRun})
}

// Claim is Check for a Pod that is known to be available, and under a budget.
func (c *Checker) Claim(ctx context.Context, budget types.NamespacedName, claim Claim) (Verdict, error) {
	w := &waiting{Claim: claim, ctx: ctx, answer: make(chan answer, 1)}
	if c.enqueue(budget, w) {
		go c.work(budget)
	}
	select {
	case a := <-w.answer:
		return a.verdict, a.err
	case <-ctx.Done():
		return Verdict{}, fmt.Errorf("waiting for PodUnavailableBudget %s: %w", budget, ctx.Err())
	}
}

// enqueue tells whether nobody serves the budget yet.
func (c *Checker) enqueue(budget types.NamespacedName, w *waiting) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue, served := c.queues[budget]
	c.queues[budget] = append(queue, w)
	return !served
}

// work serves a budget until nobody waits for it.
func (c *Checker) work(budget types.NamespacedName) {
	for {
		batch := c.next(budget)
		if len(batch) == 0 {
			return
		}
		c.serve(budget, batch)
	}
}

// next are all that wait. If there are none, the budget is not served any more.
func (c *Checker) next(budget types.NamespacedName) []*waiting {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.queues[budget]
	if len(batch) == 0 {
		delete(c.queues, budget)
		return nil
	}
	c.queues[budget] = []*waiting{}
	return batch
}

// serve answers a batch by one write, which is tried again when somebody else wrote first.
func (c *Checker) serve(name types.NamespacedName, batch []*waiting) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), batchTime)
	defer cancel()
	for try := range tries {
		batch = patient(batch)
		if len(batch) == 0 {
			return
		}
		verdicts, err := c.attempt(ctx, name, batch)
		if !apierrors.IsConflict(err) {
			reply(batch, verdicts, err)
			return
		}
		c.pause(ctx, try)
	}
	verdicts := make([]Verdict, len(batch))
	for i := range verdicts {
		verdicts[i] = denied(Conflict, "the budget's status was written by others each time, try again")
	}
	reply(batch, verdicts, nil)
}

// patient are those who still wait. One who does not must not be given a unit.
func patient(batch []*waiting) []*waiting {
	var left []*waiting
	for _, w := range batch {
		if w.ctx.Err() == nil {
			left = append(left, w)
		}
	}
	return left
}

func reply(batch []*waiting, verdicts []Verdict, err error) {
	for i, w := range batch {
		if err != nil {
			w.answer <- answer{err: err}
			continue
		}
		w.answer <- answer{verdict: verdicts[i]}
	}
}

// attempt settles the claims on the status as it is now. Without a budget everything is free.
func (c *Checker) attempt(ctx context.Context, name types.NamespacedName, batch []*waiting) ([]Verdict, error) {
	budget, err := c.Store.Get(ctx, name)
	if apierrors.IsNotFound(err) {
		return make([]Verdict, len(batch)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading PodUnavailableBudget %s: %w", name, err)
	}
	claims := make([]Claim, len(batch))
	for i, w := range batch {
		claims[i] = w.Claim
	}
	verdicts, changed := settle(budget, claims, c.Clock.Now(), c.ResizeApart)
	if !changed {
		return verdicts, nil
	}
	err = c.Store.UpdateStatus(ctx, budget)
	if apierrors.IsNotFound(err) {
		return make([]Verdict, len(batch)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("writing the status of PodUnavailableBudget %s: %w", name, err)
	}
	return verdicts, nil
}

func (c *Checker) pause(ctx context.Context, try int) {
	most := min(firstPause<<try, longPause)
	select {
	case <-c.Clock.After(time.Duration(c.Random() * float64(most))):
	case <-ctx.Done():
	}
}
