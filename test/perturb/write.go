package perturb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

type groupKind = schema.GroupKind

// Pods are Pods by name.
type Pods = []*corev1.Pod

// lagTime is for how long a cache does not show a change when it lags: longer than controllers wait before they look
// again.
const lagTime = 2 * time.Second

// lateness is how long a write may be under way after its client has given up: longer than it waits to try again.
const lateness = 3 * time.Second

// foreign is the annotation of what others made, that the controller must not touch.
const foreign = "perturb.test/foreign"

// errLost is what a client sees of an answer that does not arrive.
var errLost = errors.New("http2: client connection lost")

// conditions are what faults have made of a run.
type conditions struct {
	// silentUntil is when watches go on, awayUntil when the server can be reached again.
	silentUntil, awayUntil time.Time
	// lag is by how many changes caches stay behind while anything else can be done, rewind how many changes behind the
	// caches of the next process begin.
	lag, rewind int
	// lagUntil is when a change is shown by which a cache lags.
	lagUntil time.Time
	// fates of the next changes that the leader's caches are to show; healAt is when all is listed again, after one of
	// them was lost.
	fates  []fate
	healAt time.Time
	// refuse decides about later writes.
	refuse func(*Call) error
	// order of lists; nil is by name.
	order *rand.Rand
	// skew is by how much the controller's clock is ahead of the world's.
	skew time.Duration
	// late are writes that are still to be carried out.
	late []lateWrite
	// undo are what the user does when nothing else is left to do, one by one.
	undo []func()
	// marked are the UIDs of Pods that have what others gave them.
	marked map[types.UID]bool
	// letGoSoon lets a former leader go on after the next sync, otherwise when nothing else is left to do.
	letGoSoon bool
	// ours are the versions that the leader wrote.
	ours map[int64]bool
}

// lateWrite is a write whose time is still to come.
type lateWrite struct {
	at time.Time
	do func()
}

// verdict is what a fault does to one write.
type verdict struct {
	// instead of the write, this error.
	instead error
	// lost: the write happens, its answer does not arrive. crash: neither does the process live on.
	lost, crash bool
	// late: there is an error instead of an answer, and the write happens some time after.
	late bool
	// held: another process leads before the write happens. dies tells whether the former one ends after it.
	held, dies bool
}

func (r *Run) write(p *Process, c *Call, do func() error) error {
	r.writes++
	c.Number = r.writes
	r.calls = append(r.calls, c)
	v := r.verdict(p, c)
	if v.held {
		r.former, p.held = p, make(chan struct{})
		held := p.held
		r.note("write %d, %s, is under way when %s loses the lead", c.Number, c, p.name)
		r.leader = r.startProcess(r.rewind)
		<-held
	}
	if v.late {
		r.note("write %d, %s, is late", c.Number, c)
		r.late = append(r.late, lateWrite{r.now().Add(lateness), func() {
			if err := do(); err != nil {
				r.note("write %d, late: %s: %v", c.Number, c, err)
				return
			}
			r.note("write %d, late: %s", c.Number, c)
		}})
		return errLost
	}
	if v.instead != nil {
		r.note("write %d: %s fails: %v", c.Number, c, v.instead)
		return v.instead
	}
	err := r.carryOut(p, c, do)
	switch {
	case v.crash || v.dies:
		r.note("%s crashes", p.name)
		p.dead = true
		return errDead
	case v.lost:
		r.note("the answer is lost")
		return errLost
	case err == nil:
		c.answered()
	}
	return err
}

func (r *Run) verdict(p *Process, c *Call) verdict {
	var v verdict
	for _, injected := range r.plan.Faults {
		if injected.At == c.Number && injected.Applies(c) {
			r.note("fault %s", injected.ID)
			v = injected.Do(r, p, c)
		}
	}
	if v == (verdict{}) && r.refuse != nil {
		v.instead = r.refuse(c)
	}
	return v
}

// carryOut does the write, and asks the invariants about it.
func (r *Run) carryOut(p *Process, c *Call, do func() error) error {
	before, version := r.server.Pods(), r.server.Version()
	theirs := false
	if obj, err := r.server.Get(c.Key); err == nil {
		theirs = obj.GetAnnotations()[foreign] != ""
	}
	err := do()
	if err == nil && theirs {
		r.fail("write %d, %s, is to an object of somebody else", c.Number, c)
	}
	if err != nil {
		r.note("write %d: %s %s: %v", c.Number, c, c.Text, err)
		return err
	}
	r.note("write %d: %s %s", c.Number, c, c.Text)
	if p != r.leader {
		return nil // it could not know what the leader did meanwhile
	}
	if r.ours == nil {
		r.ours = map[int64]bool{}
	}
	for v := version + 1; v <= r.server.Version(); v++ {
		r.ours[v] = true
	}
	w := &Write{Call: c, Before: before, After: r.server.Pods(), Server: r.server, Parents: r.parents(p), run: r, known: r.known(p)}
	if wrong := r.workload.Check(w); wrong != nil {
		r.fail("write %d, %s: %w", c.Number, c, wrong)
	}
	return nil
}

// known is the version up to which the process may know all Pods and the parent.
func (r *Run) known(p *Process) int64 {
	known := p.seen
	if pods := p.informer(apiserver.PodKind); pods.behind() > 0 {
		known = min(known, pods.seen)
	}
	if parents := p.informer(r.workload.Parent.Kind); parents.behind() > 0 {
		known = min(known, parents.seen)
	}
	return known
}

// parents are the versions of the parent since the one that the process knows.
func (r *Run) parents(p *Process) []client.Object {
	known := r.known(p)
	var all []client.Object
	for _, e := range r.server.Log() {
		if e.Key != r.workload.Parent {
			continue
		}
		if e.Version <= known {
			all = all[:0]
		}
		all = append(all, e.Object)
	}
	return all
}

// Disrupted is how many Pods others have made unavailable since the controller could know, by what available says.
func (w *Write) Disrupted(available func(*corev1.Pod) bool) (n int) {
	then := map[apiserver.Key]*corev1.Pod{}
	touched := map[apiserver.Key]bool{}
	for _, e := range w.run.server.Log() {
		pod, isPod := e.Object.(*corev1.Pod)
		switch {
		case !isPod:
		case e.Version > w.known && w.run.ours[e.Version]:
			touched[e.Key] = true
		case e.Version > w.known:
		case e.Type == deletedType:
			delete(then, e.Key)
		default:
			then[e.Key] = pod
		}
	}
	for key, pod := range then {
		now, err := w.Server.Get(key)
		gone := err != nil || now.GetUID() != pod.UID || !available(now.(*corev1.Pod))
		if gone && available(pod) && !touched[key] {
			n++
		}
	}
	return n
}

// shuffle puts a list in another order, if the run does that.
func (r *Run) shuffle(all []client.Object) {
	if r.order != nil {
		r.order.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
}

func versionOf(obj client.Object) int64 {
	n, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("a stored object has version %q", obj.GetResourceVersion()))
	}
	return n
}
