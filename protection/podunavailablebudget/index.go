package podunavailablebudget

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Workload is what a Pod may belong to. The version of its group does not matter.
type Workload struct{ Group, Kind, Name string }

// WorkloadOf is the workload of a group and version, a kind and a name.
func WorkloadOf(apiVersion, kind, name string) Workload {
	return Workload{schema.FromAPIVersionAndKind(apiVersion, kind).Group, kind, name}
}

// Index knows the budgets of a cluster, and finds those of a Pod without looking at the others: by its workload, and by a
// label that their selectors ask for. It is safe for concurrent use.
type Index struct {
	mu         sync.RWMutex
	namespaces map[string]*space
}

// space is a namespace's budgets, by name, by workload and by one label of their selectors; unlabelled have selectors that ask
// for no value of a label.
type space struct {
	budgets    map[string]*known
	targets    map[Workload]names
	labelled   map[label]names
	unlabelled names
}

type (
	label struct{ key, value string }
	// names are in order: of several budgets that match, the first one counts.
	names []string
)

// known is a budget with its selector, which is nil if it has a target.
type known struct {
	*Budget
	selector labels.Selector
	target   *Workload
	// by is where it is in labelled; nil is in unlabelled.
	by *label
}

// NewIndex knows none.
func NewIndex() *Index { return &Index{namespaces: make(map[string]*space)} }

// Upsert takes a budget's JSON, of either version. One that is not usable is as if it were not there.
func (x *Index) Upsert(raw jsontext.Value) error {
	budget := &Budget{}
	if err := json.Unmarshal(raw, budget); err != nil {
		return fmt.Errorf("reading a PodUnavailableBudget: %w", err)
	}
	return x.Put(budget)
}

// Put takes a budget, which must not change afterwards.
func (x *Index) Put(budget *Budget) error {
	x.Delete(budget.Namespace, budget.Name)
	k, err := compile(budget)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.namespaces[budget.Namespace]
	if s == nil {
		s = &space{budgets: make(map[string]*known), targets: make(map[Workload]names), labelled: make(map[label]names)}
		x.namespaces[budget.Namespace] = s
	}
	s.budgets[budget.Name] = k
	switch {
	case k.target != nil:
		s.targets[*k.target] = s.targets[*k.target].with(budget.Name)
	case k.by != nil:
		s.labelled[*k.by] = s.labelled[*k.by].with(budget.Name)
	default:
		s.unlabelled = s.unlabelled.with(budget.Name)
	}
	return nil
}

func compile(budget *Budget) (*known, error) {
	k := &known{Budget: budget, selector: labels.Nothing()}
	if t := budget.Spec.TargetReference; t != nil {
		w := WorkloadOf(t.APIVersion, t.Kind, t.Name)
		k.target = &w
		return k, nil
	}
	s := budget.Spec.Selector
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return k, nil
	}
	var err error
	if k.selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
		return nil, fmt.Errorf("reading the selector of PodUnavailableBudget %s/%s: %w", budget.Namespace, budget.Name, err)
	}
	if keys := slices.Sorted(maps.Keys(s.MatchLabels)); len(keys) > 0 { // any of them narrows it
		k.by = &label{keys[0], s.MatchLabels[keys[0]]}
	}
	return k, nil
}

// Delete forgets a budget.
func (x *Index) Delete(namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.namespaces[namespace]
	if s == nil || s.budgets[name] == nil {
		return
	}
	switch k := s.budgets[name]; {
	case k.target != nil:
		remove(s.targets, *k.target, name)
	case k.by != nil:
		remove(s.labelled, *k.by, name)
	default:
		s.unlabelled = s.unlabelled.without(name)
	}
	delete(s.budgets, name)
	if len(s.budgets) == 0 {
		delete(x.namespaces, namespace)
	}
}

func remove[K comparable](from map[K]names, key K, name string) {
	if from[key] = from[key].without(name); len(from[key]) == 0 {
		delete(from, key)
	}
}

func (n names) with(name string) names {
	at, _ := slices.BinarySearch(n, name)
	return slices.Insert(slices.Clone(n), at, name)
}

func (n names) without(name string) names {
	return slices.DeleteFunc(slices.Clone(n), func(other string) bool { return other == name })
}

// Match is the first budget, by name, that selects a Pod with these labels or belongs to one of its workloads; "" if there is
// none.
func (x *Index) Match(namespace string, of map[string]string, workloads ...Workload) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.namespaces[namespace]
	if s == nil {
		return ""
	}
	first := ""
	consider := func(candidates names, matches func(*known) bool) {
		for _, name := range candidates {
			if (first == "" || name < first) && matches(s.budgets[name]) {
				first = name
			}
		}
	}
	for _, workload := range workloads {
		consider(s.targets[workload], func(*known) bool { return true })
	}
	selected := func(k *known) bool { return k.selector.Matches(labels.Set(of)) }
	for key, value := range of {
		consider(s.labelled[label{key, value}], selected)
	}
	consider(s.unlabelled, selected)
	return first
}

// targetsAbove tells whether a budget of the namespace is for a Deployment whose name a ReplicaSet's could be made of.
// Most ReplicaSets need not be read then.
func (x *Index) targetsAbove(namespace, replicaSet string) bool {
	i := strings.LastIndexByte(replicaSet, '-')
	if i < 0 {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.namespaces[namespace]
	return s != nil && len(s.targets[Workload{"apps", "Deployment", replicaSet[:i]}]) > 0
}

// Spares tells whether the budget is known to leave the Pod, or what is done to it, alone. What it does not know it does not
// spare.
func (x *Index) Spares(name types.NamespacedName, claim Claim, resizeApart bool) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.namespaces[name.Namespace]
	return s != nil && s.budgets[name.Name] != nil && spares(s.budgets[name.Name].Budget, claim, resizeApart)
}
