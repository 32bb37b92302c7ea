package sidecarset

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

const (
	// liveTimeout bounds one read of revisions: a request that waits for it has five seconds in all.
	liveTimeout = 2 * time.Second
	// liveFor is how long the answer of a live read serves other Pods. The watch delivers a new revision within this time.
	liveFor = time.Second
	// maxLive bounds the answers that are kept: one for each SidecarSet that asks for a revision that is not there.
	maxLive = 1000
)

// LiveRevisions reads the ControllerRevisions of our own namespace past every cache. It is safe for concurrent use.
type LiveRevisions interface {
	// Revision reads the one of a name.
	Revision(ctx context.Context, name string) (raw jsontext.Value, found bool, err error)
	// Revisions reads those that have the labels.
	Revisions(ctx context.Context, labels map[string]string) ([]jsontext.Value, error)
}

// Revisions are the versions that SidecarSets have and had. It is safe for concurrent use.
type Revisions struct {
	namespace string
	live      LiveRevisions
	random    func() float64
	answers   *cache.LRUExpireCache
	flights   singleflight.Group

	mu    sync.RWMutex
	named map[string]*revision
	ofSet map[string][]*revision // by SidecarSet, in no order
}

// NewRevisions makes an empty store of the revisions in a namespace, the one of this service. live is asked for what the
// store does not know; if it is nil, that does not exist. random gives numbers from 0 up to but without 1, and is safe for
// concurrent use: it decides which Pods get an older version when a SidecarSet wants that for a percentage of them.
func NewRevisions(namespace string, live LiveRevisions, random func() float64, clock clock.PassiveClock) *Revisions {
	return &Revisions{
		namespace: namespace, live: live, random: random, answers: cache.NewLRUExpireCacheWithClock(maxLive, clock),
		named: map[string]*revision{}, ofSet: map[string][]*revision{},
	}
}

// Upsert takes a ControllerRevision in. One of another namespace, or of no SidecarSet, is ignored. Whether its content can
// be used is found out when a Pod is to get it.
func (r *Revisions) Upsert(raw jsontext.Value) error {
	found, namespace, err := readRevision(raw)
	if err != nil {
		return err
	}
	if namespace != r.namespace {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(found.name)
	if found.sidecarSet == "" {
		return nil
	}
	r.named[found.name] = found
	r.ofSet[found.sidecarSet] = append(r.ofSet[found.sidecarSet], found)
	return nil
}

// Delete forgets a ControllerRevision.
func (r *Revisions) Delete(namespace, name string) {
	if namespace != r.namespace {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(name)
}

func (r *Revisions) remove(name string) {
	old, ok := r.named[name]
	if !ok {
		return
	}
	delete(r.named, name)
	rest := slices.DeleteFunc(r.ofSet[old.sidecarSet], func(other *revision) bool { return other == old })
	if len(rest) == 0 {
		delete(r.ofSet, old.sidecarSet)
	} else {
		r.ofSet[old.sidecarSet] = rest
	}
}

// wanted names a revision of a SidecarSet: by its name, or else by the version that the user gave it.
type wanted struct{ sidecarSet, name, version string }

func (w wanted) String() string {
	if w.name != "" {
		return fmt.Sprintf("revisionName %q", w.name)
	}
	return fmt.Sprintf("customVersion %q", w.version)
}

// restore is the version that a SidecarSet asks for. One that does not exist, is another SidecarSet's, or cannot be used
// refuses the Pod with 422; that nobody can tell now is a fault.
func (r *Revisions) restore(ctx context.Context, w wanted) (*Compiled, error) {
	found, err := r.find(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("looking up the revision of SidecarSet %s with %v: %w", w.sidecarSet, w, err)
	}
	refuse := func(format string, args ...any) error {
		return admission.Refuse(422, "SidecarSet %s: injectionStrategy.revision asks for %v, "+format,
			append([]any{w.sidecarSet, w}, args...)...)
	}
	switch {
	case found == nil:
		return nil, refuse("which is not among the ControllerRevisions in namespace %s with the label %s=%s; "+
			"ask for one of those, or remove injectionStrategy.revision to inject the current version",
			r.namespace, v1beta1.SidecarSetNameLabel, w.sidecarSet)
	case found.sidecarSet == "":
		return nil, refuse("which is no revision of a SidecarSet; ask for one with the label %s=%s, "+
			"or remove injectionStrategy.revision to inject the current version", v1beta1.SidecarSetNameLabel, w.sidecarSet)
	case found.sidecarSet != w.sidecarSet:
		return nil, refuse("which is a revision of SidecarSet %s; ask for one of its own, "+
			"or remove injectionStrategy.revision to inject the current version", found.sidecarSet)
	}
	restored, err := found.restore()
	if err != nil {
		return nil, refuse("but ControllerRevision %s/%s cannot be used: %v; ask for another one, "+
			"or remove injectionStrategy.revision to inject the current version", r.namespace, found.name, err)
	}
	return restored, nil
}

// find is the revision, nil if there is none.
func (r *Revisions) find(ctx context.Context, w wanted) (*revision, error) {
	if found := r.known(w); found != nil || r.live == nil || !w.possible() {
		return found, nil
	}
	return r.ask(ctx, w)
}

// possible tells whether such a revision can exist. Of what the API server would not have as a name or label we need not
// ask it.
func (w wanted) possible() bool {
	if w.name != "" {
		return len(validation.IsDNS1123Subdomain(w.name)) == 0
	}
	return len(validation.IsValidLabelValue(w.sidecarSet)) == 0 && len(validation.IsValidLabelValue(w.version)) == 0
}

func (r *Revisions) known(w wanted) *revision {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if w.name != "" {
		return r.named[w.name]
	}
	return w.newest(r.ofSet[w.sidecarSet])
}

// newest is the one of the version that has the highest number.
func (w wanted) newest(list []*revision) (newest *revision) {
	for _, candidate := range list {
		if candidate.version == w.version && candidate.sidecarSet == w.sidecarSet && (newest == nil || candidate.number > newest.number) {
			newest = candidate
		}
	}
	return newest
}
