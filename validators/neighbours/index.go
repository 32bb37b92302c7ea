// Package neighbours knows of objects of one namespace what makes them compete: their targets and selectors. Rules that compare an
// object with its neighbours ask it, so that what they cost does not grow with neighbours that have nothing to do with the object.
package neighbours

import (
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// Object is what is looked at of an object.
type Object struct {
	Metadata struct {
		Name              string       `json:"name"`
		Namespace         string       `json:"namespace"`
		DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Target   *Target               `json:"targetRef"`
		Selector *metav1.LabelSelector `json:"selector"`
	} `json:"spec"`
}

// Read reads an object's JSON, of any version.
func Read(raw jsontext.Value) (o Object, err error) {
	err = json.Unmarshal(raw, &o, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return o, err
}

// Target names a workload.
type Target struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// workload is what a target means, in whatever version.
type workload struct{ group, kind, name string }

// Group is the API group of the target; "" is the core group.
func (t Target) Group() string { return schema.FromAPIVersionAndKind(t.APIVersion, t.Kind).Group }

func (t Target) workload() workload { return workload{t.Group(), t.Kind, t.Name} }

// Same says whether both mean one workload.
func (t Target) Same(other *Target) bool { return other != nil && t.workload() == other.workload() }

// Index knows the objects of some kinds, by resource. It is safe for concurrent use.
//
// What it says is of two sources: the watch, and what was asked about a moment ago, which may have been created since although the
// watch does not show it yet. Both can be wrong about an object, so that whoever can has to look at those that are named.
type Index struct {
	mu    sync.Mutex
	kinds map[string]*kind
	clock clock.PassiveClock
}

type kind struct {
	known  table
	recent recent
}

// NewIndex knows nothing.
func NewIndex(clock clock.PassiveClock) *Index {
	return &Index{kinds: make(map[string]*kind), clock: clock}
}

func (x *Index) of(resource string) *kind {
	k := x.kinds[resource]
	if k == nil {
		k = &kind{known: table{}, recent: recent{table: table{}}}
		x.kinds[resource] = k
	}
	return k
}

// Candidates are names of objects that may compete with the one that asks, in order: those that the watch shows, and others that
// were asked about a moment ago.
type Candidates struct{ Known, Recent []string }

// SameTarget are the others in a namespace that may have a target. From now on, and for a while, the one that asks counts as having
// it too.
func (x *Index) SameTarget(resource, namespace, name string, target Target) Candidates {
	return x.compare(resource, namespace, name, entry{target: target.workload()}, func(s *space) []string { return s.targets[target.workload()] })
}

// SameSelection are the others in a namespace whose selectors may be like one (overlap.Alike). From now on, and for a while, the one
// that asks counts as having it too.
func (x *Index) SameSelection(resource, namespace, name string, selector metav1.LabelSelector) Candidates {
	return x.compare(resource, namespace, name, entry{selector: &selector}, func(s *space) []string { return s.selectors.Like(&selector) })
}

func (x *Index) compare(resource, namespace, name string, own entry, find func(*space) []string) (c Candidates) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.of(resource)
	k.recent.expire(x.clock.Now())
	named := map[string]bool{name: true}
	in := func(t table) (others []string) {
		if s := t[namespace]; s != nil {
			others = slices.DeleteFunc(slices.Clone(find(s)), func(other string) bool { return named[other] })
			slices.Sort(others)
		}
		for _, other := range others {
			named[other] = true
		}
		return others
	}
	c.Known = in(k.known)
	c.Recent = in(k.recent.table)
	if name != "" { // else the API server is still to make one, and nobody could look at it
		k.recent.note(namespace, name, own, x.clock.Now())
	}
	return c
}

// Retract says that an object which was asked about will not be created.
func (x *Index) Retract(resource, namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.of(resource).recent.forget(namespace, name)
}

// Sink is told of the objects of one kind by the watch.
type Sink struct {
	index    *Index
	resource string
}

// Sink is that of a resource.
func (x *Index) Sink(resource string) Sink { return Sink{x, resource} }

// Upsert takes an object's JSON. One that is being deleted makes room for others.
func (s Sink) Upsert(raw jsontext.Value) error {
	o, err := Read(raw)
	if err != nil {
		return fmt.Errorf("reading one of the %s to compare others with: %w", s.resource, err)
	}
	own := entry{selector: o.Spec.Selector}
	if o.Spec.Target != nil {
		own.target = o.Spec.Target.workload()
	}
	if o.Metadata.DeletionTimestamp != nil {
		own = entry{}
	}
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	k := s.index.of(s.resource)
	k.known.put(o.Metadata.Namespace, o.Metadata.Name, own)
	return nil
}

// Delete takes an object away.
func (s Sink) Delete(namespace, name string) {
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	s.index.of(s.resource).known.remove(namespace, name)
}
