package sidecarset

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Index holds the SidecarSets in force, filed under what their selectors ask for, so that the cost of finding those of
// a Pod grows with the Pod's labels and not with the number of SidecarSets. It is safe for concurrent use; readers wait
// only while a SidecarSet, compiled before, is moved between its places.
type Index struct {
	seed     maphash.Seed
	compiled compiled

	mu       sync.RWMutex
	texts    texts
	sets     map[string]*filed
	places   map[uint64][]*filed // by the hash of a place
	failures map[string]error
}

// place is a condition that a Pod meets or not, found without looking at any SidecarSet.
type place struct {
	namespace  string // "" for SidecarSets of no particular namespace
	kind       kindOfPlace
	key, value string
}

type kindOfPlace byte

const (
	anyLabels kindOfPlace = iota // for selectors with nothing but NotIn and DoesNotExist
	hasLabel
	hasValue
)

// maxPlaces bounds the namespaces times the labels that one SidecarSet is filed under. An object that the API server
// takes can list 100,000 of each, whose product fills any memory, and all Pods wait while it is made. What asks for more
// is filed under its labels alone, or its namespaces alone, which is linear in its size.
const maxPlaces = 10_000

// NewIndex makes an empty index.
func NewIndex() *Index {
	return &Index{
		seed: maphash.MakeSeed(), compiled: newCompiled(),
		sets: map[string]*filed{}, places: map[uint64][]*filed{}, failures: map[string]error{},
	}
}

// Upsert puts a SidecarSet, as JSON of either version, into force. One that does not compile leaves its last good
// version in force, or nothing if there was none, and is reported by Failures until it compiles or is deleted.
func (x *Index) Upsert(raw []byte) error {
	set, f, err := file(raw)
	if err != nil {
		if name, unreadable := nameOfObject(raw); unreadable == nil && name != "" {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.failures[name] = err
		}
		return err
	}
	x.put(set, f)
	return nil
}

// put files a SidecarSet. A paused one lies nowhere.
func (x *Index) put(set *Compiled, f *filed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.failures, set.name)
	x.remove(set.name)
	f.places = f.place[:0]
	if !set.paused {
		for _, p := range x.choose(set) {
			f.places = append(f.places, x.hash(p))
		}
	}
	f.move(&x.texts)
	x.sets[f.name] = f
	for _, p := range f.places {
		x.places[p] = append(x.places[p], f)
	}
	x.compiled.used.Add(f, set)
}

// hash stands for a place. That two places share one only means that a Pod has a candidate more, or one twice.
func (x *Index) hash(p place) uint64 { return maphash.Comparable(x.seed, p) }

// Delete takes a SidecarSet out of force. Deleting an unknown one does nothing.
func (x *Index) Delete(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.failures, name)
	x.remove(name)
}

// Len is the number of SidecarSets in force, paused ones included.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.sets)
}

// Failures says of each SidecarSet whose newest version does not compile why.
func (x *Index) Failures() map[string]error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.failures)
}

func (x *Index) remove(name string) {
	old, ok := x.sets[name]
	if !ok {
		return
	}
	delete(x.sets, name)
	x.compiled.used.Remove(old)
	for _, p := range old.places {
		rest := slices.DeleteFunc(x.places[p], func(f *filed) bool { return f == old })
		if len(rest) == 0 {
			delete(x.places, p)
		} else {
			x.places[p] = rest
		}
	}
}

// choose finds the places with the fewest others in them, under one of the requirements that a Pod must meet: with
// `inject=true` in every selector and `app=...` in each, those of `app` stay small.
func (x *Index) choose(set *Compiled) (best []place) {
	requirements, selectable := set.selector.Requirements()
	if !selectable {
		return nil
	}
	namespaces := set.pinned
	if namespaces == nil {
		namespaces = []string{""}
	}
	of := namespaces
	if len(namespaces)*asked(requirements) > maxPlaces {
		of = []string{""}
	}
	cost := 0
	for _, r := range requirements {
		places := placesOf(r, of)
		if c := x.crowd(places); len(places) > 0 && (best == nil || c < cost) {
			best, cost = places, c
		}
	}
	if best == nil {
		for _, namespace := range namespaces {
			best = append(best, place{namespace: namespace})
		}
	}
	return best
}

// asked is how many labels the requirements name, one of which a Pod must have.
func asked(requirements labels.Requirements) (n int) {
	for _, r := range requirements {
		n += max(1, len(r.ValuesUnsorted()))
	}
	return n
}

// placesOf are the places of which every Pod that meets the requirement meets exactly one, or none for a requirement
// that a Pod meets by not having something.
func placesOf(r labels.Requirement, namespaces []string) (places []place) {
	for _, namespace := range namespaces {
		for _, value := range allowed(r) {
			places = append(places, place{namespace: namespace, kind: hasValue, key: r.Key(), value: value})
		}
		if r.Operator() == selection.Exists {
			places = append(places, place{namespace: namespace, kind: hasLabel, key: r.Key()})
		}
	}
	return places
}

// crowd is the number of entries that the places would have.
func (x *Index) crowd(places []place) int {
	n := len(places)
	for _, p := range places {
		n += len(x.places[x.hash(p)])
	}
	return n
}

// candidates are the SidecarSets that may select a Pod; every one that does is among them.
func (x *Index) candidates(namespace string, labels map[string]string) (found []*filed) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, namespace := range [...]string{namespace, ""} {
		found = append(found, x.places[x.hash(place{namespace: namespace})]...)
		for key, value := range labels {
			found = append(found, x.places[x.hash(place{namespace: namespace, kind: hasLabel, key: key})]...)
			found = append(found, x.places[x.hash(place{namespace: namespace, kind: hasValue, key: key, value: value})]...)
		}
	}
	return found
}
