package userpolicy

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

const (
	// mostTargets is how many kinds of requests a set remembers the rules for. A cluster has some hundred resources with a
	// few operations each; what is forgotten is found again.
	mostTargets = 2048
	// mostQueries bounds what a set whose rules match in many combinations holds.
	mostQueries = 256
	// warmed is how many kinds of requests a set is prepared for before it is in force.
	warmed = 64
)

// queries are prepared questions to those rules of a set that concern a request. One is made when the first such request
// comes, unless it could be foreseen.
type queries struct {
	set *Set

	mu      sync.RWMutex
	targets map[wanted]*question
	// prepared are the questions by the rules that they ask.
	prepared map[string]*question
}

// wanted is what a question depends on.
type wanted struct {
	target
	// inventory says whether rules that depend on data.inventory are asked.
	inventory bool
}

// question asks some rules of a set, in the order of its answer.
type question struct {
	rules []*Rule
	query rego.PreparedEvalQuery
}

// of is the question for requests of one kind; nil if no rule concerns them.
func (q *queries) of(ctx context.Context, w wanted) (*question, error) {
	q.mu.RLock()
	found, known := q.targets[w]
	q.mu.RUnlock()
	if known {
		return found, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.targets) >= mostTargets || q.targets == nil {
		q.targets = make(map[wanted]*question)
	}
	found, err := q.prepare(ctx, q.set.concerned(w))
	if err == nil {
		q.targets[w] = found
	}
	return found, err
}

// prepare makes a question for the rules with these indexes.
func (q *queries) prepare(ctx context.Context, rules []int) (*question, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	var key []byte
	for _, i := range rules {
		key = binary.AppendUvarint(key, uint64(i))
	}
	if found, known := q.prepared[string(key)]; known {
		return found, nil
	}
	made := &question{}
	paths := make([]string, len(rules))
	for n, i := range rules {
		made.rules = append(made.rules, &q.set.rules[i])
		paths[n] = q.set.rules[i].path
	}
	var err error
	made.query, err = rego.New(
		rego.Query("["+strings.Join(paths, ", ")+"]"), rego.Compiler(q.set.compiler), rego.Store(q.set.store),
	).PrepareForEval(context.WithoutCancel(ctx)) // what one request pays for serves the next ones
	if err != nil {
		return nil, fmt.Errorf("preparing rules of the set %s: %w", q.set.Name(), err)
	}
	if len(q.prepared) >= mostQueries || q.prepared == nil {
		q.prepared = make(map[string]*question)
	}
	q.prepared[string(key)] = made
	return made, nil
}

// concerned are the indexes of the rules that have something to say.
func (s *Set) concerned(w wanted) []int {
	var rules []int
	for i := range s.rules {
		if rule := &s.rules[i]; rule.concerns(w.target) && (w.inventory || !rule.Inventory) {
			rules = append(rules, i)
		}
	}
	return rules
}

// warm prepares what can be foreseen: requests that the matches name without patterns. A set with its first question that
// cannot be prepared is not usable.
func (q *queries) warm(ctx context.Context) error {
	for n, w := range q.set.foreseen() {
		if n >= warmed {
			break
		}
		if _, err := q.of(ctx, w); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// foreseen are the kinds of requests that matches name.
func (s *Set) foreseen() []wanted {
	var list []wanted
	seen := make(map[wanted]bool)
	for _, m := range s.named() {
		for _, group := range m.APIGroups {
			for _, version := range m.APIVersions {
				for _, resource := range m.Resources {
					for _, operation := range m.Operations {
						name, sub, _ := strings.Cut(resource, "/")
						w := wanted{inventory: len(s.source.Settings.Inventory) > 0, target: target{
							group: group, version: version, resource: name, subresource: sub,
							operation: admission.Operation(operation), namespaced: m.Scope != admissionv1.ClusterScope,
						}}
						if !w.pattern() && !seen[w] {
							seen[w] = true
							list = append(list, w)
						}
					}
				}
			}
		}
	}
	return list
}

// pattern says whether something of a target stands for all.
func (w wanted) pattern() bool {
	return w.group == all || w.resource == all || w.subresource == all || w.operation == all
}

// named are all matches of the set.
func (s *Set) named() []Match {
	var list []Match
	for i := range s.rules {
		if s.rules[i].Own != nil {
			list = append(list, s.rules[i].Own...)
			continue
		}
		list = append(list, s.rules[i].Match...)
	}
	return list
}
