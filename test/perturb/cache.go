package perturb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// readTimeout is how long a read waits for the cache to show the process's own writes, as the manager has it.
const readTimeout = 30 * time.Second

// Watch is a kind whose events wake a controller.
type Watch struct {
	Kind       schema.GroupKind
	Handler    handler.EventHandler
	Predicates []predicate.Predicate
}

// informer is a process's cache of one kind, and its memory of the process's own writes of that kind, for which reads
// wait as controller-runtime's read-your-writes client does.
type informer struct {
	process *Process
	kind    schema.GroupKind
	store   map[apiserver.Key]client.Object
	// at is how many of the server's changes were looked at, and seen the version of the last that was shown.
	at   int
	seen int64
	// minimum has the versions of own writes, deleted the UIDs of objects whose deletion is to be shown.
	minimum map[apiserver.Key]int64
	deleted map[types.UID]bool
	// postponed is a change that is late; gone tells that the watch cannot go on, so that all is listed anew.
	postponed *apiserver.Event
	gone      bool
}

func newInformer(p *Process, kind schema.GroupKind) *informer {
	return &informer{process: p, kind: kind, store: map[apiserver.Key]client.Object{}, minimum: map[apiserver.Key]int64{}, deleted: map[types.UID]bool{}}
}

// list fills the cache with what the server had after so many changes. Handlers are told of what is there, and of what
// differs from what was shown before.
func (i *informer) list(changes int) {
	then := map[apiserver.Key]client.Object{}
	for _, e := range i.process.run.server.Log()[:changes] {
		switch {
		case e.Key.Kind != i.kind:
		case e.Type == watch.Deleted:
			delete(then, e.Key)
			i.seen = max(i.seen, e.Version)
		default:
			then[e.Key] = e.Object
			i.seen = max(i.seen, e.Version)
		}
	}
	i.at = changes
	old := maps.Clone(i.store)
	for _, obj := range apiserver.Sorted(then, i.kind) {
		key := i.process.run.server.KeyOf(obj)
		i.show(apiserver.Event{Type: watch.Modified, Key: key, Object: obj}, true)
		delete(old, key)
	}
	for _, obj := range apiserver.Sorted(old, i.kind) {
		i.show(apiserver.Event{Type: watch.Deleted, Key: i.process.run.server.KeyOf(obj), Object: obj}, true)
	}
	clear(i.deleted) // a list shows deletions too
}

// behind are the changes of this kind that are not shown yet.
func (i *informer) behind() (n int) {
	log := i.process.run.server.Log()
	if i.gone || i.postponed != nil {
		n = 1 << 20 // whatever the lag is
	}
	for at := i.at; at < len(log); at++ {
		if log[at].Key.Kind == i.kind {
			n++
		}
	}
	return n
}

// advance shows the next change of this kind; false if there is none.
func (i *informer) advance() bool {
	log := i.process.run.server.Log()
	if i.gone {
		i.gone = false
		i.list(len(log))
		return true
	}
	for i.at < len(log) {
		e := log[i.at]
		i.at++
		if e.Key.Kind == i.kind {
			i.process.run.deliver(i, e)
			return true
		}
	}
	if late := i.postponed; late != nil {
		i.postponed = nil
		i.showLate(*late)
		return true
	}
	return false
}

// show makes a change visible, and tells the handlers if notify says so.
func (i *informer) show(e apiserver.Event, notify bool) {
	i.seen = max(i.seen, e.Version)
	old, known := i.store[e.Key]
	switch e.Type {
	case watch.Deleted:
		delete(i.store, e.Key)
		delete(i.deleted, e.Object.GetUID())
	default:
		i.store[e.Key] = e.Object
	}
	if !notify {
		return
	}
	ctx, q := context.Background(), i.process.queue
	for _, w := range i.process.watches {
		if w.Kind != i.kind {
			continue
		}
		passes := func(f func(predicate.Predicate) bool) bool {
			return !slices.ContainsFunc(w.Predicates, func(p predicate.Predicate) bool { return !f(p) })
		}
		created, updated, deleted := event.CreateEvent{Object: e.Object}, event.UpdateEvent{ObjectOld: old, ObjectNew: e.Object}, event.DeleteEvent{Object: e.Object}
		switch {
		case e.Type == watch.Deleted && known && passes(func(p predicate.Predicate) bool { return p.Delete(deleted) }):
			w.Handler.Delete(ctx, deleted, q)
		case e.Type == watch.Deleted:
		case !known && passes(func(p predicate.Predicate) bool { return p.Create(created) }):
			w.Handler.Create(ctx, created, q)
		case known && passes(func(p predicate.Predicate) bool { return p.Update(updated) }):
			w.Handler.Update(ctx, updated, q)
		}
	}
}

// wrote remembers the version that an own write made; there is 0 if it removed the object.
func (i *informer) wrote(key apiserver.Key, uid types.UID, version int64) {
	if version == 0 {
		i.deleted[uid] = true
		return
	}
	i.minimum[key] = max(i.minimum[key], version)
}

// await makes the cache show own writes, of one object or, without a key, of all, as a read has to. Only what must
// arrive for that arrives.
func (i *informer) await(key *apiserver.Key) error {
	var need int64
	for k, v := range i.minimum {
		if key == nil || *key == k {
			need = max(need, v)
		}
	}
	for i.seen < need || len(i.deleted) > 0 {
		run := i.process.run
		if run.now().Before(run.silentUntil) && run.silentUntil.Sub(run.now()) < readTimeout {
			run.advanceTo(run.silentUntil)
		}
		if run.now().Before(run.silentUntil) || !i.advance() {
			run.advanceTo(run.now().Add(readTimeout))
			return fmt.Errorf("failed to wait for cache to catch up: %w", context.DeadlineExceeded)
		}
	}
	return nil
}
