package overlap

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is what two SidecarSets can disagree about; its value is the name of the field of the spec.
type Kind string

// The kinds of conflicts.
const (
	Containers     Kind = "containers"
	InitContainers Kind = "initContainers"
	Volumes        Kind = "volumes"
	Annotations    Kind = "annotations"
)

// Conflict is a name that another SidecarSet has too.
type Conflict struct {
	Kind Kind
	// Field is the path of the name, Name the name, and Other the first SidecarSet, by name, that has it.
	Field, Name, Other string
}

// slot is a name that SidecarSets can clash about.
type slot struct {
	kind Kind
	name string
}

// Index knows what every SidecarSet brings, by name of what it brings. It is safe for concurrent use.
type Index struct {
	mu    sync.RWMutex
	sets  map[string]*set
	slots map[slot]*bucket
}

// NewIndex makes an empty index.
func NewIndex() *Index {
	return &Index{sets: make(map[string]*set), slots: make(map[slot]*bucket)}
}

// Upsert puts a SidecarSet, as JSON of either version, into the index instead of an earlier one of its name.
func (x *Index) Upsert(raw jsontext.Value) error {
	s, err := read(raw)
	if err != nil {
		return fmt.Errorf("reading a SidecarSet to compare others with: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(s.name)
	x.sets[s.name] = s
	for _, c := range s.claims {
		if x.slots[c.slot] == nil {
			x.slots[c.slot] = newBucket()
		}
		x.slots[c.slot].add(s, c)
	}
	return nil
}

// Delete takes a SidecarSet away; namespace is not looked at.
func (x *Index) Delete(_, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(name)
}

func (x *Index) remove(name string) {
	s := x.sets[name]
	if s == nil {
		return
	}
	delete(x.sets, name)
	for _, c := range s.claims {
		if b := x.slots[c.slot]; b != nil {
			if b.remove(s); b.size == 0 {
				delete(x.slots, c.slot)
			}
		}
	}
}

// Canary says whether there is a SidecarSet of a name, and whether it is a canary.
func (x *Index) Canary(name string) (canary, found bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.sets[name]
	return s != nil && s.base != "", s != nil
}

// Conflicts compares a SidecarSet, as JSON of either version, with all others that may select the same Pods.
//
// What is found is the first by name, so that one object gets one answer from every replica. Conflicts that before, the
// SidecarSet as it was, had already do not count: two that came to disagree by another way than through us could
// otherwise not be changed any more, not even their images.
func (x *Index) Conflicts(raw, before jsontext.Value) (conflicts []Conflict, err error) {
	s, err := read(raw)
	if err != nil {
		return nil, err
	}
	old, err := read(before)
	if err != nil {
		return nil, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	apart := make(map[*set]bool) // what was compared once need not be compared again
	for _, c := range s.claims {
		b := x.slots[c.slot]
		if b == nil {
			continue
		}
		first := ""
		for other, theirs := range b.candidates(s) {
			if first != "" && first <= other.name || !c.clashes(theirs) {
				continue
			}
			disjoint, known := apart[other]
			if !known {
				disjoint = !s.meets(other)
				apart[other] = disjoint
			}
			if !disjoint && !old.disagrees(c.slot, theirs, other) {
				first = other.name
			}
		}
		if first != "" {
			conflicts = append(conflicts, Conflict{Kind: c.kind, Field: c.field, Name: c.name, Other: first})
		}
	}
	slices.SortFunc(conflicts, func(a, b Conflict) int { return cmp.Compare(a.Field, b.Field) })
	return conflicts, nil
}
