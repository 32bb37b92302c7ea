package userpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Match says which requests rules concern, with the words and the meaning of a webhook configuration's rules.
type Match struct {
	// APIGroups are groups, "" that of Pods, or "*" alone.
	APIGroups []string `json:"apiGroups"`
	// APIVersions are versions; none is "*", all.
	APIVersions []string `json:"apiVersions,omitempty"`
	// Resources are plurals as pods, subresources as pods/resize, or patterns as *, */*, pods/* and */scale.
	Resources []string `json:"resources"`
	// Operations are CREATE, UPDATE, DELETE, CONNECT or "*" alone; none is CREATE and UPDATE.
	Operations []admissionv1.OperationType `json:"operations,omitempty"`
	// Scope is Namespaced, Cluster or *; "" is *.
	Scope admissionv1.ScopeType `json:"scope,omitempty"`
}

const all = "*"

// readMatch reads custom.match of an annotation; nil if it has none.
func readMatch(custom map[string]any) ([]Match, error) {
	written, there := custom["match"]
	if !there {
		return nil, nil
	}
	raw, err := json.Marshal(written)
	if err != nil {
		return nil, fmt.Errorf("custom.match: %w", err)
	}
	var list []Match
	if err := json.Unmarshal(raw, &list, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("custom.match: %w: it is a list of {apiGroups, apiVersions, resources, operations, scope}", explained(err))
	}
	if len(list) == 0 {
		return nil, errors.New("custom.match: it is empty: name apiGroups and resources, or leave it out")
	}
	for i := range list {
		list[i] = list[i].withDefaults()
		if err := list[i].check(); err != nil {
			return nil, fmt.Errorf("custom.match[%d].%w", i, err)
		}
		if same := slices.IndexFunc(list[:i], list[i].equal); same >= 0 {
			return nil, fmt.Errorf("custom.match[%d]: it is the same as custom.match[%d]: leave one out", i, same)
		}
	}
	return list, nil
}

func (m Match) withDefaults() Match {
	if len(m.APIVersions) == 0 {
		m.APIVersions = []string{all}
	}
	if len(m.Operations) == 0 {
		m.Operations = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
	}
	if m.Scope == "" {
		m.Scope = admissionv1.AllScopes
	}
	return m
}

func (m Match) equal(other Match) bool {
	return slices.Equal(m.APIGroups, other.APIGroups) && slices.Equal(m.APIVersions, other.APIVersions) &&
		slices.Equal(m.Resources, other.Resources) && slices.Equal(m.Operations, other.Operations) && m.Scope == other.Scope
}

// check asks what the API server asks: it would refuse the entries of all sets for one that is wrong.
func (m Match) check() error {
	if err := checkList("apiGroups", m.APIGroups, true); err != nil {
		return err
	}
	if err := checkList("apiVersions", m.APIVersions, false); err != nil {
		return err
	}
	if err := checkList("operations", m.Operations, false); err != nil {
		return err
	}
	known := []admissionv1.OperationType{all, admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect}
	for _, operation := range m.Operations {
		if !slices.Contains(known, operation) {
			return fmt.Errorf("operations: %q must be one of CREATE, UPDATE, DELETE, CONNECT and *", operation)
		}
	}
	scopes := []admissionv1.ScopeType{admissionv1.AllScopes, admissionv1.NamespacedScope, admissionv1.ClusterScope}
	if !slices.Contains(scopes, m.Scope) {
		return fmt.Errorf("scope: %q must be Namespaced, Cluster or *", m.Scope)
	}
	if err := m.checkResources(); err != nil {
		return err
	}
	return m.checkCovered()
}

// checkList says what is wrong with a list of which * stands for everything.
func checkList[T ~string](name string, list []T, emptyElement bool) error {
	switch {
	case len(list) == 0:
		return fmt.Errorf("%s: it is required", name)
	case !emptyElement && slices.Contains(list, ""):
		return fmt.Errorf("%s: an element is empty", name)
	case len(list) > 1 && slices.Contains(list, all):
		return fmt.Errorf("%s: * stands for all others: leave them out", name)
	}
	for i, element := range list {
		if slices.Contains(list[:i], element) {
			return fmt.Errorf("%s: %q is there twice", name, element)
		}
	}
	return nil
}

func (m Match) checkResources() error {
	if len(m.Resources) == 0 {
		return errors.New("resources: it is required")
	}
	whole := slices.Contains(m.Resources, "*/*")
	for i, resource := range m.Resources {
		name, sub, slashed := strings.Cut(resource, "/")
		switch {
		case name == "", slashed && sub == "", strings.Contains(sub, "/"):
			return fmt.Errorf("resources: %q must be a plural as pods, or a subresource as pods/resize", resource)
		case slices.Contains(m.Resources[:i], resource):
			return fmt.Errorf("resources: %q is there twice", resource)
		case whole && len(m.Resources) > 1:
			return errors.New("resources: */* stands for all others: leave them out")
		case !slashed && resource != all && slices.Contains(m.Resources, all),
			slashed && sub != all && slices.Contains(m.Resources, name+"/*"),
			slashed && name != all && slices.Contains(m.Resources, "*/"+sub):
			return fmt.Errorf("resources: %q is in another element already: leave it out", resource)
		}
	}
	return nil
}

// Covers says whether a request is one of those. Exclusions that hold for all sets are Excluded's matter.
func (m Match) Covers(req *admission.Request) bool {
	return m.covers(targetOf(req))
}

func (m Match) covers(t target) bool {
	return has(m.APIGroups, t.group) && has(m.APIVersions, t.version) && has(m.Operations, admissionv1.OperationType(t.operation)) &&
		(m.Scope == admissionv1.AllScopes || m.Scope == "" || (m.Scope == admissionv1.NamespacedScope) == t.namespaced) &&
		slices.ContainsFunc(m.Resources, t.isOf)
}

func has[T ~string](list []T, value T) bool {
	return slices.Contains(list, value) || slices.Contains(list, all)
}

// target is all of a request that a Match looks at.
type target struct {
	group, version, resource, subresource string
	operation                             admission.Operation
	namespaced                            bool
}

func targetOf(req *admission.Request) target {
	return target{
		group: req.Resource.Group, version: req.Resource.Version, resource: req.Resource.Resource, subresource: req.SubResource,
		operation: req.Operation,
		// Requests for a Namespace carry its own name, and yet it is in none.
		namespaced: req.Namespace != "" && (req.Resource.Group != "" || req.Resource.Resource != "namespaces"),
	}
}

// isOf says whether a resource of a Match, perhaps a pattern, is this one.
func (t target) isOf(pattern string) bool {
	name, sub, _ := strings.Cut(pattern, "/")
	if pattern == "*/*" {
		return true
	}
	return (name == all || name == t.resource) && (sub == t.subresource || sub == all && t.subresource != "")
}

// overlaps says whether there can be a request that both cover.
func (m Match) overlaps(other Match) bool {
	meet := func(a, b string) bool { return a == all || b == all || a == b }
	return meetIn(m.APIGroups, other.APIGroups, meet) && meetIn(m.APIVersions, other.APIVersions, meet) &&
		meetIn(m.Resources, other.Resources, meetResources) &&
		meetIn(m.Operations, other.Operations, func(a, b admissionv1.OperationType) bool { return meet(string(a), string(b)) }) &&
		meet(string(m.Scope), string(other.Scope))
}

func meetIn[T any](as, bs []T, meet func(a, b T) bool) bool {
	return slices.ContainsFunc(as, func(a T) bool {
		return slices.ContainsFunc(bs, func(b T) bool { return meet(a, b) })
	})
}

func meetResources(a, b string) bool {
	if a == "*/*" || b == "*/*" {
		return true
	}
	aName, aSub, _ := strings.Cut(a, "/")
	bName, bSub, _ := strings.Cut(b, "/")
	names := aName == all || bName == all || aName == bName
	return names && (aSub == bSub || aSub == all && bSub != "" || bSub == all && aSub != "")
}

func anyCovers(list []Match, t target) bool {
	return slices.ContainsFunc(list, func(m Match) bool { return m.covers(t) })
}
