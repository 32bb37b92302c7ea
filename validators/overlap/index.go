package overlap

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"iter"
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
//
// It is made to be small. SidecarSets are packed and have numbers, and names are hashed: that two names share a hash only
// means that a search looks at a SidecarSet more.
type Index struct {
	seed maphash.Seed

	mu   sync.RWMutex
	ids  map[string]uint32 // by name
	sets []packed          // by id
	free []uint32          // ids that nobody has
	// alone and shared say who brings something under a name, by its hash: most names have one SidecarSet.
	alone  map[uint64]uint32
	shared map[uint64]*bucket
}

// NewIndex makes an empty index.
func NewIndex() *Index {
	return &Index{
		seed: maphash.MakeSeed(), ids: make(map[string]uint32), alone: make(map[uint64]uint32), shared: make(map[uint64]*bucket),
	}
}

// Upsert puts a SidecarSet, as JSON of either version, into the index instead of an earlier one of its name.
func (x *Index) Upsert(raw jsontext.Value) error {
	s, err := read(raw)
	if err != nil {
		return fmt.Errorf("reading a SidecarSet to compare others with: %w", err)
	}
	small := pack(s)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(s.name)
	id := x.newID()
	x.sets[id] = small
	x.ids[small.name()] = id // a part of what is kept anyway
	for _, c := range s.claims {
		x.add(maphash.Comparable(x.seed, c.slot), id, s)
	}
	return nil
}

func (x *Index) newID() uint32 {
	if last := len(x.free) - 1; last >= 0 {
		id := x.free[last]
		x.free = x.free[:last]
		return id
	}
	x.sets = append(x.sets, "")
	return uint32(len(x.sets) - 1)
}

func (x *Index) add(name uint64, id uint32, s *set) {
	b := x.shared[name]
	if b == nil {
		other, taken := x.alone[name]
		if !taken {
			x.alone[name] = id
			return
		}
		delete(x.alone, name)
		b = &bucket{size: 1, unfiled: []uint32{other}}
		x.shared[name] = b
	}
	b.add(id, s, func(id uint32) *set { return x.sets[id].unpack() })
}

// Delete takes a SidecarSet away; namespace is not looked at.
func (x *Index) Delete(_, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(name)
}

func (x *Index) remove(name string) {
	id, found := x.ids[name]
	if !found {
		return
	}
	s := x.sets[id].unpack()
	delete(x.ids, name)
	for _, c := range s.claims {
		hash := maphash.Comparable(x.seed, c.slot)
		if b := x.shared[hash]; b == nil {
			delete(x.alone, hash)
		} else if b.remove(id, s); b.size == 0 {
			delete(x.shared, hash)
		}
	}
	x.sets[id] = ""
	x.free = append(x.free, id)
}

// Canary says whether there is a SidecarSet of a name, and whether it is a canary.
func (x *Index) Canary(name string) (canary, found bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	id, found := x.ids[name]
	return found && x.sets[id].unpack().base != "", found
}

// with are the SidecarSets that bring something under a name and may select the same Pods as s, and perhaps others.
func (x *Index) with(name slot, s *set) iter.Seq[uint32] {
	hash := maphash.Comparable(x.seed, name)
	if b := x.shared[hash]; b != nil {
		return b.candidates(s)
	}
	return func(yield func(uint32) bool) {
		if id, found := x.alone[hash]; found {
			yield(id)
		}
	}
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
	met := make(map[uint32]*set) // what was compared once need not be compared again; nil are those that s does not meet
	for _, c := range s.claims {
		first := ""
		for id := range x.with(c.slot, s) {
			name := x.sets[id].name()
			theirs, brings := x.sets[id].claim(c.slot)
			if first != "" && first <= name || !brings || !c.clashes(theirs) {
				continue
			}
			other, known := met[id]
			if !known {
				if other = x.sets[id].unpack(); !s.meets(other) {
					other = nil
				}
				met[id] = other
			}
			if other != nil && !old.disagrees(c.slot, theirs, other) {
				first = name
			}
		}
		if first != "" {
			conflicts = append(conflicts, Conflict{Kind: c.kind, Field: c.field, Name: c.name, Other: first})
		}
	}
	slices.SortFunc(conflicts, func(a, b Conflict) int { return cmp.Compare(a.Field, b.Field) })
	return conflicts, nil
}
