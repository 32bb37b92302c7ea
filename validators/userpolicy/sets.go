package userpolicy

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Sets are the sets in force, by name. Who reads one goes on with it whatever is put in its place.
type Sets struct {
	changing sync.Mutex
	current  atomic.Pointer[map[string]*Set]
}

// Get is the set of a name; nil if there is none.
func (s *Sets) Get(name string) *Set {
	if current := s.current.Load(); current != nil {
		return (*current)[name]
	}
	return nil
}

// Put puts a set into force in place of the one of its name.
func (s *Sets) Put(set *Set) { s.change(func(sets map[string]*Set) { sets[set.Name()] = set }) }

// Delete takes a set out of force.
func (s *Sets) Delete(name string) { s.change(func(sets map[string]*Set) { delete(sets, name) }) }

func (s *Sets) change(fn func(map[string]*Set)) {
	s.changing.Lock()
	defer s.changing.Unlock()
	next := make(map[string]*Set)
	if current := s.current.Load(); current != nil {
		next = maps.Clone(*current)
	}
	fn(next)
	s.current.Store(&next)
}

// All are the sets in the order of their names.
func (s *Sets) All() []*Set {
	current := s.current.Load()
	if current == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(*current), func(a, b *Set) int { return cmp.Compare(a.Name(), b.Name()) })
}
