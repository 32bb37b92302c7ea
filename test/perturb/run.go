package perturb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

const (
	// stepLimit ends a run that goes on for ever: the longest of those that end takes a tenth of that.
	stepLimit = 1500
	// extraSyncs at rest are to write nothing.
	extraSyncs = 2
)

// start is when runs begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Run is one run of a plan.
type Run struct {
	workload *Workload
	plan     Plan
	server   *apiserver.Server
	clock    *clocktesting.FakePassiveClock
	// random chooses among what may happen next; nil takes the first.
	random *rand.Rand
	nodes  kubelet
	// leader leads; former is the one before, if it still has a write to finish.
	leader, former *Process
	processes      int
	writes, steps  int
	ids            int
	calls          []*Call
	trace          []string
	failure        error
	conditions
}

// newRun begins with what a server has, or with nothing.
func newRun(w *Workload, plan Plan, from *apiserver.Server) *Run {
	r := &Run{workload: w, plan: plan, clock: clocktesting.NewFakePassiveClock(start)}
	if plan.Seed != 0 {
		r.random = rand.New(rand.NewPCG(plan.Seed, 0))
	}
	if from != nil {
		r.clock.SetTime(start.Add(time.Hour))
		r.server = from.Snapshot(r.clock)
	} else {
		r.server = apiserver.New(w.Scheme, r.clock, w.Admit)
	}
	r.nodes = kubelet{server: r.server, now: r.now, silent: map[string]time.Time{}}
	if from == nil {
		if err := newNodes(r.server); err != nil {
			r.fail("making nodes: %w", err)
		}
	}
	return r
}

// Clock is the controller's: it may differ from that of the rest of the world.
func (r *Run) Clock() clock.PassiveClock { return controllersClock{r} }

type controllersClock struct{ run *Run }

func (c controllersClock) Now() time.Time                  { return c.run.now().Add(c.run.skew) }
func (c controllersClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// NewID is another one at each call.
func (r *Run) NewID() string {
	r.ids++
	return fmt.Sprintf("%c%04d", 'a'+r.processes, r.ids)
}

func (r *Run) now() time.Time { return r.clock.Now() }

func (r *Run) advanceTo(t time.Time) {
	if t.After(r.now()) {
		r.clock.SetTime(t)
	}
}

func (r *Run) note(format string, args ...any) {
	r.trace = append(r.trace, fmt.Sprintf("%7.1fs ", r.now().Sub(start).Seconds())+fmt.Sprintf(format, args...))
}

// fail notes the first thing that is wrong, after which the run ends.
func (r *Run) fail(format string, args ...any) {
	if r.failure == nil {
		r.failure = fmt.Errorf(format, args...)
		r.note("WRONG: %v", r.failure)
	}
}

func (r *Run) pick(n int) int {
	if r.random == nil {
		return 0
	}
	return r.random.IntN(n)
}

// do runs the plan to its end.
func (r *Run) do() {
	if _, err := r.server.Get(r.workload.Parent); err != nil {
		if err := r.server.Create(r.workload.New()); err != nil {
			r.fail("creating the parent: %w", err)
			return
		}
	}
	r.leader = r.startProcess(0)
	r.settle()
	for _, edits := range r.plan.Stages {
		r.note("user: %s", strings.Join(edits, " "))
		if err := r.workload.Edit(r.server, edits); err != nil {
			r.fail("editing by %q: %w", edits, err)
		}
		r.settle()
		r.undoAll()
	}
}

// undoAll has the user take back what faults made them do, the last first.
func (r *Run) undoAll() {
	for r.failure == nil && len(r.undo) > 0 {
		last := len(r.undo) - 1
		undo := r.undo[last]
		r.undo = r.undo[:last]
		undo()
		r.settle()
	}
}

// settle goes on until nothing is left to do, and then asks what must hold at rest.
func (r *Run) settle() {
	for r.failure == nil {
		if !r.step() {
			break
		}
	}
	r.stayAtRest()
}

func (r *Run) stayAtRest() {
	if r.skew != 0 {
		r.syncAgain() // by another clock, other things may be due
	}
	for range extraSyncs {
		before := r.writes
		r.syncAgain()
		if r.failure == nil && r.writes > before {
			r.fail("I5: %d writes at rest, the last is %s", r.writes-before, r.calls[len(r.calls)-1])
		}
	}
	if r.failure == nil {
		if err := errors.Join(r.workload.AtRest(r.server), r.keepsMarks()); err != nil {
			r.fail("at rest: %w", err)
		}
	}
}

func (r *Run) syncAgain() {
	r.advanceTo(r.now().Add(2 * time.Second))
	r.leader.queue.Add(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: r.workload.Parent.Namespace, Name: r.workload.Parent.Name}})
	for r.failure == nil && r.step() {
		continue
	}
}

// step does one of the things that can happen now; false if nothing is left.
func (r *Run) step() bool {
	if r.steps++; r.steps > stepLimit {
		r.fail("it never comes to rest")
		return false
	}
	things := [...]func() bool{r.showChanges, r.syncOnce, r.nodesAct, r.collect, r.othersAct, r.writeLate, r.showOne, r.letGo, r.heal, r.wait}
	const anyOrder = 5 // of the first; the others are for when none of these has anything to do
	if r.random != nil {
		r.random.Shuffle(anyOrder, func(i, j int) { things[i], things[j] = things[j], things[i] })
	}
	return slices.ContainsFunc(things[:], func(thing func() bool) bool { return thing() })
}

// showChanges shows the leader's caches all changes but those by which they lag.
func (r *Run) showChanges() (did bool) {
	if r.now().Before(r.silentUntil) {
		return false
	}
	for _, kind := range r.workload.Kinds {
		i := r.leader.informer(kind)
		for i.behind() > r.lag && i.advance() {
			did = true
		}
	}
	return did
}

// showOne shows one change by which a cache lags, some time after it happened.
func (r *Run) showOne() bool {
	if r.now().Before(r.silentUntil) {
		return false
	}
	for _, kind := range r.workload.Kinds {
		i := r.leader.informer(kind)
		switch {
		case i.behind() == 0:
		case r.lagUntil.IsZero():
			r.lagUntil = r.now().Add(lagTime)
			return true
		case r.now().Before(r.lagUntil):
			return false
		default:
			r.lagUntil = time.Time{}
			return i.advance()
		}
	}
	return false
}

func (r *Run) syncOnce() bool {
	request, none := r.leader.queue.Get()
	if none {
		return false
	}
	p := r.leader
	p.sync(request)
	if !p.drive() && p == r.leader {
		r.fail("the leader waits for ever")
	}
	if p == r.leader && p.dead {
		r.leader = r.startProcess(r.rewind)
	}
	if r.former != nil && r.letGoSoon {
		r.letGo()
	}
	return true
}

func (r *Run) nodesAct() bool {
	did := r.nodes.step(r.pick)
	if did != "" {
		r.note("%s", did)
	}
	return did != ""
}

func (r *Run) othersAct() bool {
	if r.workload.Others == nil {
		return false
	}
	did := r.workload.Others(r.server)
	if did != "" {
		r.note("%s", did)
	}
	return did != ""
}

// writeLate carries out a write that the controller was told had failed.
func (r *Run) writeLate() bool {
	if len(r.late) == 0 || r.now().Before(r.late[0].at) {
		return false
	}
	late := r.late[0]
	r.late = r.late[1:]
	late.do()
	return true
}

func (r *Run) collect() bool {
	if did := r.server.Collect(); did != "" {
		r.note("the garbage collector %s", did)
		return true
	}
	key, has := r.server.Orphan()
	if !has {
		return false
	}
	r.note("the garbage collector deletes %s", key)
	if err := r.server.Delete(key, &client.DeleteOptions{}); err != nil {
		r.fail("collecting %s: %w", key, err)
	}
	return true
}

// letGo lets a former leader finish the write that it was at.
func (r *Run) letGo() bool {
	p := r.former
	if p == nil {
		return false
	}
	r.former = nil
	r.note("%s finishes its write", p.name)
	close(p.held)
	p.held = nil
	p.drive()
	return true
}

// wait lets time pass until something is due.
func (r *Run) wait() bool {
	next := time.Time{}
	sooner := func(t time.Time) {
		if t.After(r.now()) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, t := range []time.Time{r.leader.queue.next(), r.nodes.next(), r.silentUntil, r.awayUntil, r.healAt, r.lagUntil} {
		sooner(t)
	}
	for _, late := range r.late {
		sooner(late.at)
	}
	if next.IsZero() {
		return false
	}
	r.advanceTo(next)
	return true
}

// heal makes watches list again some time after a change was lost.
func (r *Run) heal() bool {
	if r.healAt.IsZero() || r.now().Before(r.healAt) {
		return false
	}
	r.healAt = time.Time{}
	r.note("all watches list again")
	r.relist()
	return true
}

// relist lists all of the leader's kinds again, as after a watch that could not go on where it was.
func (r *Run) relist() {
	for _, kind := range r.workload.Kinds {
		r.leader.informer(kind).list(len(r.server.Log()))
	}
}

// counts are how many objects of some kinds were created and deleted since a number of changes.
func (r *Run) counts(since int, kinds []schema.GroupKind) string {
	n := map[string]int{}
	for _, e := range r.server.Log()[since:] {
		if slices.Contains(kinds, e.Key.Kind) && e.Type != watch.Modified && e.Object.GetAnnotations()[foreign] == "" {
			n[fmt.Sprintf("%s %s", e.Key.Kind.Kind, strings.ToLower(string(e.Type)))]++
		}
	}
	return fmt.Sprint(n)
}
