package perturb

import (
	"cmp"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// Call is one call of a controller to the API.
type Call struct {
	// Verb is get, list, create, update, patch or delete.
	Verb        string
	Subresource string
	Key         apiserver.Key
	// Text is what is sent, for people.
	Text string
	// Options of a deletion.
	Options *client.DeleteOptions
	// Number counts the writes of all processes of a run, from 1; 0 for reads.
	Number int
	// object is what a creation or an update sends.
	object client.Object
	// cached tells of a read that it does not reach the server.
	cached bool
	// answered is what the client does with a successful answer, if it arrives.
	answered func()
}

// IsWrite tells whether the call changes something.
func (c *Call) IsWrite() bool { return c.Verb != "get" && c.Verb != "list" }

func (c *Call) String() string {
	name := c.Verb + " " + c.Key.String()
	if c.Subresource != "" {
		name += "/" + c.Subresource
	}
	return name
}

// gate holds calls until the run lets one go on, so that calls that a controller makes in parallel happen one after
// another and in an order that can be repeated.
type gate struct {
	mutex   sync.Mutex
	waiting []*waiting
}

type waiting struct {
	call *Call
	pass chan struct{}
}

func (g *gate) wait(c *Call) {
	w := &waiting{call: c, pass: make(chan struct{})}
	g.mutex.Lock()
	g.waiting = append(g.waiting, w)
	g.mutex.Unlock()
	<-w.pass
}

// open lets one call pass, if there is one; pick chooses among them as ordered by name.
func (g *gate) open(pick func(n int) int) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if len(g.waiting) == 0 {
		return false
	}
	slices.SortStableFunc(g.waiting, func(a, b *waiting) int { return cmp.Compare(a.call.String(), b.call.String()) })
	i := pick(len(g.waiting))
	w := g.waiting[i]
	g.waiting = slices.Delete(g.waiting, i, i+1)
	close(w.pass)
	return true
}
