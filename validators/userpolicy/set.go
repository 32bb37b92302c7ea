package userpolicy

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Set is a compiled set. It never changes, and is safe for concurrent use.
type Set struct {
	source   *Source
	rules    []Rule
	compiler *ast.Compiler
	store    *store
	queries  queries
}

// Name is that of the source.
func (s *Set) Name() string { return s.source.Name }

// Source is what the set was made of; it must not be changed.
func (s *Set) Source() *Source { return s.source }

// Settings are the source's.
func (s *Set) Settings() Settings { return s.source.Settings }

// Revision is that of the source.
func (s *Set) Revision() string { return s.source.Revision() }

// Rules are those that say something of requests, in the order of files and lines.
func (s *Set) Rules() []Rule { return slices.Clone(s.rules) }

// Match says which requests the API server is to ask about: what the annotations of packages say, and of rules in a package
// that says nothing.
func (s *Set) Match() []Match {
	var list []Match
	for i := range s.rules {
		match := s.rules[i].Match
		if match == nil {
			match = s.rules[i].Own
		}
		for _, m := range match {
			if !slices.ContainsFunc(list, m.equal) {
				list = append(list, m)
			}
		}
	}
	return list
}

// InventoryRules are the ids of those that depend on data.inventory.
func (s *Set) InventoryRules() []string {
	var ids []string
	for i := range s.rules {
		if s.rules[i].Inventory && !slices.Contains(ids, s.rules[i].ID) {
			ids = append(ids, s.rules[i].ID)
		}
	}
	return ids
}

// has says whether a rule of the set has this id.
func (s *Set) has(id string) bool {
	return slices.ContainsFunc(s.rules, func(r Rule) bool { return r.ID == id })
}

// Warnings say what of a set is surely not meant, and yet no mistake.
func (s *Set) Warnings() []string {
	var warnings []string
	for _, exemption := range s.source.Settings.Exemptions {
		for _, id := range exemption.Rules {
			if !s.has(id) {
				warnings = append(warnings, "exemptions name "+id+", which no rule has as its id: names in what rules say do not count")
			}
		}
	}
	for i := range s.rules {
		if where := s.passedBy(&s.rules[i]); where != "" {
			warnings = append(warnings, s.rules[i].ID+" is asked about "+where+" in some versions alone, and another match of the set has more: "+
				"requests in those pass it; name the same apiVersions, or make it a set of its own")
		}
	}
	return warnings
}

// passedBy is a resource that a rule names in versions of which another match of the set has more; "" for none. A webhook that
// matches one version is asked about all, converted to it; one that matches several by any of its rules gets each as it comes.
func (s *Set) passedBy(rule *Rule) string {
	for _, m := range rule.narrowest() {
		if slices.Contains(m.APIVersions, all) || slices.Contains(m.APIGroups, "") { // the group of Pods has one version
			continue
		}
		wide := m
		wide.APIVersions = []string{all}
		for _, other := range s.Match() {
			more := func(version string) bool {
				return !anyCoversVersion(rule.narrowest(), m, version)
			}
			if other.overlaps(wide) && slices.ContainsFunc(other.APIVersions, more) {
				return strings.Join(m.Resources, ", ")
			}
		}
	}
	return ""
}

// narrowest are the matches that a rule's requests are in at least.
func (r *Rule) narrowest() []Match {
	if r.Own != nil {
		return r.Own
	}
	return r.Match
}

// anyCoversVersion says whether matches that overlap with one have a version.
func anyCoversVersion(list []Match, of Match, version string) bool {
	of.APIVersions = []string{all}
	return slices.ContainsFunc(list, func(m Match) bool { return m.overlaps(of) && has(m.APIVersions, version) })
}
