package neighbours

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/validators/overlap"
)

// table has what is known of objects, by namespace.
type table map[string]*space

// space is a namespace's objects.
type space struct {
	targets map[workload][]string // names
	// of is the target of each object that has one; selectors have the names of those that have one.
	of        map[string]workload
	selectors *overlap.Selectors
}

// entry is what an object competes for; the zero workload and nil are nothing.
type entry struct {
	target   workload
	selector *metav1.LabelSelector
}

func (t table) put(namespace, name string, own entry) {
	t.remove(namespace, name)
	if own == (entry{}) {
		return
	}
	s := t[namespace]
	if s == nil {
		s = &space{targets: make(map[workload][]string), of: make(map[string]workload), selectors: overlap.NewSelectors()}
		t[namespace] = s
	}
	if own.target != (workload{}) {
		s.targets[own.target] = append(s.targets[own.target], name)
		s.of[name] = own.target
	}
	s.selectors.Put(name, own.selector)
	t.tidy(namespace)
}

func (t table) remove(namespace, name string) {
	s := t[namespace]
	if s == nil {
		return
	}
	if target, targets := s.of[name]; targets {
		delete(s.of, name)
		i := slices.Index(s.targets[target], name)
		if s.targets[target] = slices.Delete(s.targets[target], i, i+1); len(s.targets[target]) == 0 {
			delete(s.targets, target)
		}
	}
	s.selectors.Delete(name)
	t.tidy(namespace)
}

// tidy drops a namespace that has nothing.
func (t table) tidy(namespace string) {
	if s := t[namespace]; len(s.of) == 0 && s.selectors.Len() == 0 {
		delete(t, namespace)
	}
}
