package objects

import (
	"fmt"
	"hash/fnv"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// feed is a reflector's store that passes what it gets on to a sink. It keeps the resource versions only: to find out
// what a new list no longer has, and what it has not changed.
type feed struct {
	kind Kind
	log  klog.Logger
	// order is held while the sink is told of something: objects that exist already are passed on as they are read, which
	// is not done by the reflector itself.
	order    sync.Mutex
	versions map[cache.ObjectName]string
	// attempt counts the lists and watches that the reflector began.
	attempt int

	mu       sync.Mutex
	complete bool
	// revision is that of Cluster.Revisions.
	revision uint64
	// failure is the last reason for which there is no list yet.
	failure error
	// without notes that the kind is Optional and was not installed when it was asked for. An API server that is away later
	// does not change that: a replica that was ready goes on serving.
	without bool
	// toldMissing notes that the log says so.
	toldMissing bool
}

var _ cache.ReflectorStore = (*feed)(nil)

func newFeed(kind Kind, log klog.Logger) *feed {
	return &feed{kind: kind, log: log, versions: make(map[cache.ObjectName]string)}
}

func (f *feed) synced() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.complete, f.without:
		return nil
	case f.kind.Foreign && apierrors.IsNotFound(f.failure):
		return fmt.Errorf("%s are not read yet: the API server does not serve their version %s", f.kind, f.kind.Version)
	case apierrors.IsNotFound(f.failure): // a list of what is served is found, were it empty
		return fmt.Errorf("%s are not read yet: the API server does not serve their version %s: apply the "+
			"CustomResourceDefinition %s of this release, and this turns ready within seconds", f.kind, f.kind.Version, f.kind)
	case f.failure != nil:
		return fmt.Errorf("%s are not read yet: %w", f.kind, f.failure)
	default:
		return fmt.Errorf("%s are not read yet", f.kind)
	}
}

func (f *feed) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = err
	if !f.dispensable(err) {
		return
	}
	f.without = true
	if !f.toldMissing {
		f.toldMissing = true
		f.log.Info("This kind is not installed; nothing of it counts until it is", "resource", f.kind.String(), "version", f.kind.Version)
	}
}

// dispensable tells whether an error says no more than that a kind is not there which need not be. It comes again with each attempt.
func (f *feed) dispensable(err error) bool { return f.kind.Optional && apierrors.IsNotFound(err) }

// quietly is a log of what the reflector says, but for what failed has told already.
func (f *feed) quietly(log klog.Logger) klog.Logger {
	if log.GetSink() == nil {
		return log // nothing is written anyway
	}
	return log.WithSink(withoutRepeats{log.GetSink(), f})
}

type withoutRepeats struct {
	logr.LogSink
	feed *feed
}

// Error implements logr.LogSink.
func (w withoutRepeats) Error(err error, msg string, keysAndValues ...any) {
	if !w.feed.dispensable(err) {
		w.LogSink.Error(err, msg, keysAndValues...)
	}
}

// WithValues implements logr.LogSink.
func (w withoutRepeats) WithValues(keysAndValues ...any) logr.LogSink {
	return withoutRepeats{w.LogSink.WithValues(keysAndValues...), w.feed}
}

// WithName implements logr.LogSink.
func (w withoutRepeats) WithName(name string) logr.LogSink {
	return withoutRepeats{w.LogSink.WithName(name), w.feed}
}

// begin notes that the reflector begins a list or a watch, and gives it a number.
func (f *feed) begin() int {
	f.order.Lock()
	defer f.order.Unlock()
	f.attempt++
	return f.attempt
}

// early passes an object on that a list or a watch has before it is complete. Of an attempt that was given up nothing is
// taken any more: what its last frame had may have changed since.
func (f *feed) early(attempt int, raw *Raw) {
	f.order.Lock()
	defer f.order.Unlock()
	if attempt == f.attempt && f.versions[raw.objectName()] != raw.ResourceVersion {
		f.upsert(raw)
	}
}

// Add implements cache.ReflectorStore.
func (f *feed) Add(obj any) error { return f.Update(obj) }

// Update implements cache.ReflectorStore.
func (f *feed) Update(obj any) error {
	f.order.Lock()
	defer f.order.Unlock()
	f.upsert(obj.(*Raw))
	return nil
}

// Delete implements cache.ReflectorStore.
func (f *feed) Delete(obj any) error {
	f.order.Lock()
	defer f.order.Unlock()
	f.remove(obj.(*Raw).objectName())
	return nil
}

// Replace implements cache.ReflectorStore: the list is everything that there is. Its objects were passed on when they were
// read.
func (f *feed) Replace(list []any, _ string) error {
	f.order.Lock()
	defer f.order.Unlock()
	listed := make(map[cache.ObjectName]bool, len(list))
	for _, obj := range list {
		listed[obj.(*Raw).objectName()] = true
	}
	for name := range f.versions {
		if !listed[name] {
			f.remove(name)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.complete = true
	if f.toldMissing {
		f.toldMissing = false
		f.log.Info("This kind is installed now", "resource", f.kind.String(), "version", f.kind.Version)
	}
	return nil
}

// Resync implements cache.ReflectorStore; there is nothing to repeat.
func (f *feed) Resync() error { return nil }

// upsert passes an object on. One that the sink refuses is logged: the API server has it, so that asking again would
// not help.
func (f *feed) upsert(raw *Raw) {
	name := raw.objectName()
	f.note(name, raw.ResourceVersion)
	if err := f.kind.Sink.Upsert(raw.JSON); err != nil {
		f.log.Error(err, "Object is not usable", "resource", f.kind.String(), "name", name.String(), "resourceVersion", raw.ResourceVersion)
	}
}

func (f *feed) remove(name cache.ObjectName) {
	f.note(name, "")
	f.kind.Sink.Delete(name.Namespace, name.Name)
}

// note keeps an object's version; "" says that it is gone.
func (f *feed) note(name cache.ObjectName, version string) {
	before := f.versions[name]
	if version == "" {
		delete(f.versions, name)
	} else {
		f.versions[name] = version
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision ^= digest(name, before) ^ digest(name, version)
}

// digest is a number for an object in a version, 0 for one that is not there.
func digest(name cache.ObjectName, version string) uint64 {
	if version == "" {
		return 0
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name.Namespace + "/" + name.Name + "@" + version)) // a hash never fails
	return hash.Sum64()
}
