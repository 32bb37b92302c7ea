package objects

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
)

const (
	// liveTimeout bounds one read of a namespace: a request that waits for it has five seconds in all.
	liveTimeout = 2 * time.Second
	// liveFor is how long the answer of a live read serves other requests. The watch delivers a new namespace within
	// this time, and what it delivers counts at once.
	liveFor = time.Second
	// maxLive bounds the answers that are kept, so that requests for invented namespaces cannot fill the memory.
	maxLive = 1024
)

// Namespaces knows the labels of namespaces. It is a Sink for them, and safe for concurrent use.
type Namespaces struct {
	mu     sync.RWMutex
	labels map[string]map[string]string

	live    LiveNamespace
	flights singleflight.Group
	answers *cache.LRUExpireCache
}

// LiveNamespace reads a namespace's labels from the API server; found is false when there is no such namespace.
type LiveNamespace func(ctx context.Context, name string) (labels map[string]string, found bool, err error)

// NewNamespaces makes a store. live is asked about namespaces that the store does not hold, since the first Pod of a
// new namespace may be quicker than the watch; nil means that those do not exist.
func NewNamespaces(live LiveNamespace, clock clock.PassiveClock) *Namespaces {
	return &Namespaces{
		labels: make(map[string]map[string]string), live: live,
		answers: cache.NewLRUExpireCacheWithClock(maxLive, clock),
	}
}

// Upsert implements Sink.
func (n *Namespaces) Upsert(raw jsontext.Value) error {
	h, err := readHeader(raw)
	if err != nil {
		return fmt.Errorf("reading a namespace: %w", err)
	}
	labels := completed(h.metadata.Name, h.metadata.Labels)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.labels[h.metadata.Name] = labels
	n.answers.Remove(h.metadata.Name)
	return nil
}

// completed adds the label that the API server gives every namespace, for those that come out of a file.
func completed(name string, labels map[string]string) map[string]string {
	if labels[corev1.LabelMetadataName] == name {
		return labels
	}
	labels = maps.Clone(labels)
	if labels == nil {
		labels = make(map[string]string, 1)
	}
	labels[corev1.LabelMetadataName] = name
	return labels
}

// Delete implements Sink.
func (n *Namespaces) Delete(_, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.labels, name)
	n.answers.Remove(name)
}

// Labels returns the labels of a namespace, which must not be changed, and whether it exists. The error says that the
// API server could not be asked.
func (n *Namespaces) Labels(ctx context.Context, name string) (labels map[string]string, found bool, err error) {
	n.mu.RLock()
	labels, found = n.labels[name]
	n.mu.RUnlock()
	if found || n.live == nil || name == "" {
		return labels, found, nil
	}
	return n.ask(ctx, name)
}

// answer is what a live read said.
type answer struct {
	labels map[string]string
	found  bool
}

// ask reads a namespace live, once for all requests that want it now.
func (n *Namespaces) ask(ctx context.Context, name string) (map[string]string, bool, error) {
	if known, ok := n.answers.Get(name); ok {
		a := known.(answer)
		return a.labels, a.found, nil
	}
	flight := n.flights.DoChan(name, func() (any, error) {
		// The read serves other requests too, so that it does not end with the one that began it.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), liveTimeout)
		defer cancel()
		labels, found, err := n.live(limited, name)
		if err != nil {
			return nil, err
		}
		a := answer{labels, found}
		n.answers.Add(name, a, liveFor)
		return a, nil
	})
	select {
	case <-ctx.Done():
		return nil, false, fmt.Errorf("reading namespace %s: %w", name, ctx.Err())
	case result := <-flight:
		if result.Err != nil {
			return nil, false, fmt.Errorf("reading namespace %s: %w", name, result.Err)
		}
		a := result.Val.(answer)
		return a.labels, a.found, nil
	}
}
