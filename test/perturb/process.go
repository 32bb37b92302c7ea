package perturb

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// errDead is what a process that crashed would never see.
var errDead = errors.New("the process is gone")

// Process is one run of a controller's process, from its start, with empty memory, to its end.
type Process struct {
	// Client reads from the process's cache and waits there for its own writes; Live reads at the server.
	Client, Live client.Client

	run        *Run
	name       string
	reconciler reconcile.Reconciler
	watches    []Watch
	informers  map[schema.GroupKind]*informer
	queue      *queue
	gate       gate
	dead       bool
	// held is closed to let a write go on that waits while another process leads.
	held chan struct{}
	// syncing is what the present reconcile, if there is one, will answer.
	syncing chan synced
	request reconcile.Request
	// seen is the server's version that the process's present sync may know all of.
	seen int64
}

type synced struct {
	result reconcile.Result
	err    error
}

// startProcess starts a controller whose caches list what the server had so many changes ago.
func (r *Run) startProcess(changesAgo int) *Process {
	r.processes++
	p := &Process{run: r, name: fmt.Sprintf("process %d", r.processes), informers: map[schema.GroupKind]*informer{}, queue: newQueue(r.now)}
	p.Client, p.Live = &api{process: p, cached: true}, &api{process: p}
	p.reconciler, p.watches = r.workload.Start(r, p)
	r.note("%s starts, its caches %d changes old", p.name, changesAgo)
	for _, kind := range r.workload.Kinds {
		p.informer(kind).list(max(len(r.server.Log())-changesAgo, 0))
	}
	return p
}

func (p *Process) informer(kind schema.GroupKind) *informer {
	i, there := p.informers[kind]
	if !there {
		i = newInformer(p, kind)
		p.informers[kind] = i
		i.list(len(p.run.server.Log()))
	}
	return i
}

// sync begins a reconcile.
func (p *Process) sync(request reconcile.Request) {
	p.request, p.syncing = request, make(chan synced, 1)
	p.seen = p.run.server.Version()
	ctx := log.IntoContext(context.Background(), logr.Discard())
	done := p.syncing
	go func() {
		result, err := p.reconciler.Reconcile(ctx, request)
		done <- synced{result, err}
	}()
}

// drive lets the calls of the present reconcile happen one after another until it ends, or until one is held. It tells
// whether it ended.
func (p *Process) drive() bool {
	for {
		synctest.Wait()
		select {
		case done := <-p.syncing:
			p.ended(done)
			return true
		default:
		}
		if p.held != nil {
			return false
		}
		if !p.gate.open(p.run.pick) {
			p.run.fail("a sync waits for something that is no call")
			return false
		}
	}
}

func (p *Process) ended(done synced) {
	p.syncing = nil
	if p.dead {
		return
	}
	if done.err != nil {
		p.run.note("sync failed: %v", done.err)
	}
	p.queue.after(p.request, done.result, done.err)
}

// call is how every call of a controller happens: in its turn, and as the faults of the run have it.
func (p *Process) call(c *Call, do func() error) error {
	p.gate.wait(c)
	if p.dead {
		return errDead
	}
	if p.run.now().Before(p.run.awayUntil) && p.reachesServer(c) {
		return fmt.Errorf("%s: connection refused", c)
	}
	if !c.IsWrite() {
		return do()
	}
	return p.run.write(p, c, do)
}

func (p *Process) reachesServer(c *Call) bool { return c.IsWrite() || !c.cached }

func notFound(k apiserver.Key) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: k.Kind.Group, Resource: k.Kind.Kind}, k.Name)
}
