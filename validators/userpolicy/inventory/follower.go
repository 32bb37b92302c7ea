package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/webhook/objects"
)

// patience is how long what has been asked for a moment ago may be on its way, before it counts as missing.
const patience = 20 * time.Second

// watched is what one watch is of: a resource, in a namespace or, with "", everywhere.
type watched struct {
	schema.GroupVersionResource
	namespace string
}

func (w watched) String() string {
	name := w.GroupVersionResource.GroupResource().String()
	if w.namespace != "" {
		name += " in namespace " + w.namespace
	}
	return name
}

// watch is one that runs, as long as a set wants it.
type watch struct {
	objects *Objects
	source  *objects.Cluster
	since   time.Time
	stop    context.CancelFunc
}

// Follower follows what sets want to see.
type Follower struct {
	config *rest.Config
	clock  clock.PassiveClock
	log    klog.Logger

	mu      sync.RWMutex
	ctx     context.Context // nil until Run
	running sync.WaitGroup
	wanted  map[string][]watched // by set
	watches map[watched]*watch
	views   map[string]*View // by set
}

// NewFollower makes a Follower; config must have no timeout. Nothing is watched before Run.
func NewFollower(config *rest.Config, clock clock.PassiveClock, log klog.Logger) *Follower {
	return &Follower{
		config: config, clock: clock, log: log, wanted: make(map[string][]watched), watches: make(map[watched]*watch),
		views: make(map[string]*View),
	}
}

// Run watches until ctx ends.
func (f *Follower) Run(ctx context.Context) error {
	f.mu.Lock()
	f.ctx = ctx
	for _, w := range f.watches {
		f.start(w)
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.running.Wait()
	return nil
}

// start runs a watch, if anything runs yet.
func (f *Follower) start(w *watch) {
	if f.ctx == nil || f.ctx.Err() != nil {
		return
	}
	within, stop := context.WithCancel(f.ctx)
	w.stop, w.since = stop, f.clock.Now()
	f.running.Go(func() { _ = w.source.Run(within) }) // it ends with its context, and tries until then
}

// Require implements sources.Inventories.
func (f *Follower) Require(set *userpolicy.Set) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var wanted []watched
	view := &View{}
	for _, resource := range set.Settings().Inventory {
		for _, w := range watchesOf(resource) {
			wanted = append(wanted, w)
			opened, err := f.open(w)
			if err != nil {
				f.log.Error(err, "Cannot watch what a set of policies wants to see", "set", set.Name(), "resource", w.String())
				continue
			}
			view.parts = append(view.parts, part{objects: opened.objects, namespaces: resource.Namespaces})
		}
	}
	view.missing = func() error {
		_, err := f.missing(wanted)
		return err
	}
	f.wanted[set.Name()], f.views[set.Name()] = wanted, view
	f.closeUnwanted()
}

// watchesOf are the watches that a resource takes: one, or one for each namespace, where no more may be allowed.
func watchesOf(r userpolicy.InventoryResource) []watched {
	resource := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
	if len(r.Namespaces) == 0 {
		return []watched{{resource, ""}}
	}
	var list []watched
	for _, namespace := range r.Namespaces {
		list = append(list, watched{resource, namespace})
	}
	return list
}

func (f *Follower) open(of watched) (*watch, error) {
	if w, open := f.watches[of]; open {
		return w, nil
	}
	w := &watch{objects: NewObjects(), since: f.clock.Now(), stop: func() {}}
	var err error
	w.source, err = objects.NewCluster(f.config, f.log, objects.Kind{
		GroupKind: schema.GroupKind{Group: of.Group}, Resource: of.Resource, Version: of.Version, Namespace: of.namespace,
		ClusterScoped: of.namespace == "", Foreign: true, Sink: w.objects,
	})
	if err != nil {
		return nil, err
	}
	f.watches[of] = w
	f.start(w)
	return w, nil
}

func (f *Follower) closeUnwanted() {
	for of, w := range f.watches {
		used := false
		for _, wanted := range f.wanted {
			used = used || slices.Contains(wanted, of)
		}
		if !used {
			w.stop()
			delete(f.watches, of)
		}
	}
}

// Release implements sources.Inventories.
func (f *Follower) Release(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.wanted, name)
	delete(f.views, name)
	f.closeUnwanted()
}

// Of is what a set sees; nil if it has not asked for anything.
func (f *Follower) Of(set *userpolicy.Set) userpolicy.Inventory {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if view := f.views[set.Name()]; view != nil {
		return view
	}
	return nil
}

// Missing implements sources.Inventories.
func (f *Follower) Missing(set *userpolicy.Set) (waiting bool, err error) {
	f.mu.RLock()
	wanted := f.wanted[set.Name()]
	f.mu.RUnlock()
	return f.missing(wanted)
}

// missing says which of these are not read, and whether they may be any moment.
func (f *Follower) missing(wanted []watched) (waiting bool, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var all []error
	for _, of := range wanted {
		w := f.watches[of]
		if w == nil {
			all = append(all, fmt.Errorf("the inventory lacks %s: it cannot be watched: the log says why", of))
			continue
		}
		if why := w.source.Synced(); why != nil {
			waiting = waiting || f.clock.Since(w.since) < patience
			all = append(all, fmt.Errorf("the inventory lacks %s: %w", of, why))
		}
	}
	slices.SortFunc(all, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return waiting, errors.Join(all...)
}
