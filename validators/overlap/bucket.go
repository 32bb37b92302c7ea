package overlap

import (
	"iter"
	"slices"
)

// few is how many SidecarSets a search looks at one by one rather than by their labels.
const few = 16

// bucket has the SidecarSets, by id, that bring something under one name. Thousands may: an agent that every team injects
// under its usual name, each into Pods of its own. Once there are many they are filed under a label's value that their
// selectors ask for, so that a search looks at those that ask for the same value, and at those that ask for none.
type bucket struct {
	size    int
	unfiled []uint32
	filed   map[string]map[string][]uint32 // by key and value of a label; nil while there are few
}

// add takes a SidecarSet in. read gives those that are there already.
func (b *bucket) add(id uint32, s *set, read func(id uint32) *set) {
	b.size++
	switch {
	case b.filed != nil:
		b.file(id, s)
	case b.size <= few:
		b.unfiled = append(b.unfiled, id)
	default:
		earlier := b.unfiled
		b.unfiled, b.filed = nil, make(map[string]map[string][]uint32)
		for _, other := range earlier {
			b.file(other, read(other))
		}
		b.file(id, s)
	}
}

func (b *bucket) file(id uint32, s *set) {
	asked := b.choose(s)
	if !asked.listed {
		b.unfiled = append(b.unfiled, id)
		return
	}
	values := b.filed[asked.key]
	if values == nil {
		values = make(map[string][]uint32)
		b.filed[asked.key] = values
	}
	for _, value := range asked.allowed {
		values[value] = append(values[value], id)
	}
}

// choose finds the key under whose values the fewest others are: with inject=true in every selector and app=... in each,
// those of app. It is no demand at all if the selector lists no values.
func (b *bucket) choose(s *set) (best demand) {
	fewest := 0
	for _, asked := range s.selector.demands {
		if !asked.listed || len(asked.allowed) == 0 {
			continue
		}
		crowd := len(asked.allowed)
		for _, value := range asked.allowed {
			crowd += len(b.filed[asked.key][value])
		}
		if !best.listed || crowd < fewest {
			best, fewest = asked, crowd
		}
	}
	return best
}

// remove takes a SidecarSet away, wherever it was filed.
func (b *bucket) remove(id uint32, s *set) {
	b.size--
	b.unfiled = without(b.unfiled, id)
	for _, asked := range s.selector.demands {
		values := b.filed[asked.key]
		for _, value := range asked.allowed {
			if rest := without(values[value], id); len(rest) > 0 {
				values[value] = rest
			} else {
				delete(values, value)
			}
		}
		if len(values) == 0 {
			delete(b.filed, asked.key)
		}
	}
}

// without is the list with one id less, if it has it.
func without(ids []uint32, id uint32) []uint32 {
	if i := slices.Index(ids, id); i >= 0 {
		return slices.Delete(ids, i, i+1)
	}
	return ids
}

// candidates are the SidecarSets that may select the same Pods as s; all that do are among them, perhaps more than once.
func (b *bucket) candidates(s *set) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		visit := func(ids []uint32) bool {
			for _, id := range ids {
				if !yield(id) {
					return false
				}
			}
			return true
		}
		if !visit(b.unfiled) {
			return
		}
		for key, values := range b.filed {
			if asked := s.selector.on(key); asked.listed {
				for _, value := range asked.allowed {
					if !visit(values[value]) {
						return
					}
				}
				continue
			}
			for _, ids := range values {
				if !visit(ids) {
					return
				}
			}
		}
	}
}
