// Package perturb runs a controller against an API server in this process, with nodes that run its Pods, and does to it
// what happens to controllers: crashes, lost answers, conflicts, caches that lag, events that never come, other leaders.
// Time is the run's own, and calls that are made in parallel happen one by one, so that a run is a function of its plan.
//
// After each write it asks the workload's invariants, and at the end whether the world is as it is without the faults.
package perturb

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// Workload is what a run has to know of a kind and its controller.
type Workload struct {
	Scheme *runtime.Scheme
	// Parent is the one object that the run is about.
	Parent apiserver.Key
	// Kinds are cached by the controller.
	Kinds []schema.GroupKind
	// Counted are those of which as many have to be created and deleted as without faults.
	Counted []schema.GroupKind
	// CountedByOne are those of which that is asked only if one process has led all the time.
	CountedByOne []schema.GroupKind
	// Admit completes created objects as the webhooks do.
	Admit func(client.Object)
	// New is the parent as its user creates it.
	New func() client.Object
	// Edit does what a user does, as texts say: to the parent, if it is there, in one write, or to its Pods.
	Edit func(server *apiserver.Server, texts []string) error
	// Others does one thing that other controllers have to do, and tells what; "" is none. nil has none.
	Others func(server *apiserver.Server) string
	// Start makes the controller of a process.
	Start func(*Run, *Process) (reconcile.Reconciler, []Watch)
	// Check is asked after each write of the controller.
	Check func(*Write) error
	// AtRest is asked whenever nothing is left to do: is this what the parent asks for?
	AtRest func(*apiserver.Server) error
	// Digest is what two runs have to agree on in the end.
	Digest func(*apiserver.Server) string
}

// Write is a write of the controller that happened.
type Write struct {
	*Call
	// Before and After are the Pods around it.
	Before, After Pods
	// Parents are the versions of the parent that the controller may have acted on, the newest last.
	Parents []client.Object
	Server  *apiserver.Server
	run     *Run
	known   int64
}
