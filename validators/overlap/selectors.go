package overlap

import (
	"encoding/binary"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Selectors finds, among many selectors with names, those that are like another one: that ask for the same keys, and for each a
// value that satisfies both (protection.md §5). It looks at few others, is small, and is not safe for concurrent use.
type Selectors struct {
	ids  map[string]uint32 // by name
	sets []packed          // by id
	free []uint32          // ids that nobody has
	// alike are those with the same keys.
	alike map[string]*bucket
}

// NewSelectors has none.
func NewSelectors() *Selectors {
	return &Selectors{ids: make(map[string]uint32), alike: make(map[string]*bucket)}
}

// Put puts a selector under a name, instead of an earlier one. One that asks for nothing is like no other.
func (x *Selectors) Put(name string, selector *metav1.LabelSelector) {
	x.Delete(name)
	s := &set{name: name, selector: Read(selector)}
	if s.selector == nil || len(s.selector.demands) == 0 {
		return
	}
	small := pack(s)
	id := uint32(len(x.sets))
	if last := len(x.free) - 1; last >= 0 {
		id, x.free = x.free[last], x.free[:last]
		x.sets[id] = small
	} else {
		x.sets = append(x.sets, small)
	}
	x.ids[small.name()] = id // a part of what is kept anyway
	keys := s.selector.keys()
	if x.alike[keys] == nil {
		x.alike[keys] = &bucket{}
	}
	x.alike[keys].add(id, s, func(id uint32) *set { return x.sets[id].unpack() })
}

// Delete takes the selector of a name away.
func (x *Selectors) Delete(name string) {
	id, found := x.ids[name]
	if !found {
		return
	}
	s := x.sets[id].unpack()
	keys := s.selector.keys()
	if x.alike[keys].remove(id, s); x.alike[keys].size == 0 {
		delete(x.alike, keys)
	}
	delete(x.ids, name)
	x.sets[id] = ""
	x.free = append(x.free, id)
}

// Len is how many there are.
func (x *Selectors) Len() int { return len(x.ids) }

// Like are the names of those that are like a selector, in order.
func (x *Selectors) Like(selector *metav1.LabelSelector) (names []string) {
	s := &set{selector: Read(selector)}
	if s.selector == nil {
		return nil
	}
	b := x.alike[s.selector.keys()]
	if b == nil {
		return nil
	}
	for id := range b.candidates(s) {
		if other := x.sets[id].unpack(); Alike(s.selector, other.selector) {
			names = append(names, other.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names) // one that allows several values is filed under each
}

// Alike says whether two selectors ask for the same keys, and for each a value that satisfies both. Those that ask for nothing, or
// for different keys, are not alike: a Pod that both select is rather a mistake of its labels than of theirs.
func Alike(a, b *Selector) bool {
	return a != nil && b != nil && len(a.demands) > 0 && a.keys() == b.keys() && Overlap(a, b)
}

// keys are those that the selector asks for, as one string.
func (s *Selector) keys() string {
	var out []byte
	for _, d := range s.demands {
		out = append(binary.AppendUvarint(out, uint64(len(d.key))), d.key...)
	}
	return string(out)
}
