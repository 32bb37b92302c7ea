package overlap

import (
	"iter"
	"maps"
	"slices"
)

// bucket has the SidecarSets that bring something under one name. Thousands may: an agent that every team injects under
// its usual name, each into Pods of its own. They are filed under a label's value that their selectors ask for, so that a
// search looks at those that ask for the same value, and at those that ask for none.
type bucket struct {
	size    int
	unfiled map[*set]claim
	filed   map[string]map[string]map[*set]claim // by key and value of a label
}

func newBucket() *bucket {
	return &bucket{unfiled: make(map[*set]claim), filed: make(map[string]map[string]map[*set]claim)}
}

func (b *bucket) add(s *set, c claim) {
	b.size++
	key := b.choose(s)
	if key == "" {
		b.unfiled[s] = c
		return
	}
	if b.filed[key] == nil {
		b.filed[key] = make(map[string]map[*set]claim)
	}
	for _, value := range s.selector.keys[key].allowed {
		if b.filed[key][value] == nil {
			b.filed[key][value] = make(map[*set]claim)
		}
		b.filed[key][value][s] = c
	}
}

// choose finds the key under whose values the fewest others are: with inject=true in every selector and app=... in each,
// those of app. It is "" if the selector lists no values.
func (b *bucket) choose(s *set) (best string) {
	fewest := 0
	for _, key := range slices.Sorted(maps.Keys(s.selector.keys)) {
		asked := s.selector.keys[key]
		if !asked.listed || len(asked.allowed) == 0 {
			continue
		}
		crowd := len(asked.allowed)
		for _, value := range asked.allowed {
			crowd += len(b.filed[key][value])
		}
		if best == "" || crowd < fewest {
			best, fewest = key, crowd
		}
	}
	return best
}

// remove takes a SidecarSet away, wherever it was filed.
func (b *bucket) remove(s *set) {
	b.size--
	delete(b.unfiled, s)
	for key, asked := range s.selector.keys {
		for _, value := range asked.allowed {
			if delete(b.filed[key][value], s); b.filed[key] != nil && len(b.filed[key][value]) == 0 {
				delete(b.filed[key], value)
			}
		}
		if len(b.filed[key]) == 0 {
			delete(b.filed, key)
		}
	}
}

// candidates are the SidecarSets that may select the same Pods as s; all that do are among them, perhaps more than once.
func (b *bucket) candidates(s *set) iter.Seq2[*set, claim] {
	return func(yield func(*set, claim) bool) {
		visit := func(sets map[*set]claim) bool {
			for other, c := range sets {
				if !yield(other, c) {
					return false
				}
			}
			return true
		}
		if !visit(b.unfiled) {
			return
		}
		for key, values := range b.filed {
			asked := s.selector.keys[key]
			if asked.listed {
				for _, value := range asked.allowed {
					if !visit(values[value]) {
						return
					}
				}
				continue
			}
			for _, sets := range values {
				if !visit(sets) {
					return
				}
			}
		}
	}
}
