package policyaudit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// target is a resource in one version, and the sets that want to be asked about its objects.
type target struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	subjects   []*subject
}

// targets are the resources that sets match with CREATE, in order. trouble says what nobody knows about the resources of a
// cluster; nil if all are known.
func (a *Auditor) targets(due []*subject) (targets []*target, trouble, err error) {
	groups, resources, err := a.Discovery.ServerGroupsAndResources()
	if discovery.IsGroupDiscoveryFailedError(err) {
		trouble, err = err, nil // of an aggregated API that is away
	}
	if err != nil {
		return nil, nil, fmt.Errorf("asking the API server for its resources: %w", err)
	}
	return choose(due, served(groups, resources), a.covers), trouble, nil
}

// covers says whether a set wants to be asked about a resource.
func (a *Auditor) covers(s *subject, t *target) bool {
	req := t.request(meta{}, nil)
	if t.namespaced {
		req.Namespace = "any"
	}
	if s.set == nil || !s.wants() || a.installation.Excluded(req) {
		return false
	}
	for _, match := range s.set.Match() {
		if match.Covers(req) {
			return true
		}
	}
	return false
}

// served are the resources that can be listed, each in all its versions, the preferred one first.
func served(groups []*metav1.APIGroup, resources []*metav1.APIResourceList) [][]target {
	preferred := make(map[string]string)
	for _, group := range groups {
		preferred[group.Name] = group.PreferredVersion.Version
	}
	all := make(map[schema.GroupResource][]target)
	for _, list := range resources {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") { // nor has a subresource it
				continue
			}
			gvr := version.WithResource(r.Name)
			all[gvr.GroupResource()] = append(all[gvr.GroupResource()], target{GroupVersionResource: gvr, kind: r.Kind, namespaced: r.Namespaced})
		}
	}
	ordered := make([][]target, 0, len(all))
	for _, resource := range slices.SortedFunc(maps.Keys(all), func(x, y schema.GroupResource) int { return cmp.Compare(x.String(), y.String()) }) {
		versions := all[resource]
		slices.SortStableFunc(versions, func(x, y target) int {
			return boolean(y.Version == preferred[resource.Group]) - boolean(x.Version == preferred[resource.Group])
		})
		ordered = append(ordered, versions)
	}
	return ordered
}

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
}

// choose gives each set one version of each resource, the first that it matches: the API server would convert to it.
func choose(due []*subject, resources [][]target, covers func(*subject, *target) bool) []*target {
	var chosen []*target
	for _, versions := range resources {
		taken := make([]*target, len(versions))
		for _, s := range due {
			for i := range versions {
				if !covers(s, &versions[i]) {
					continue
				}
				if taken[i] == nil {
					one := versions[i]
					taken[i] = &one
					chosen = append(chosen, taken[i])
				}
				taken[i].subjects = append(taken[i].subjects, s)
				break
			}
		}
	}
	return chosen
}

// path is where the objects are, of all namespaces.
func (t *target) path() []string {
	if t.Group == "" {
		return []string{"/api", t.Version, t.Resource}
	}
	return []string{"/apis", t.Group, t.Version, t.Resource}
}

// User is who creates what is judged, as rules and exemptions see it.
const User = "system:fairlead:audit"

// userGroup is the group that everybody is in who the API server knows.
const userGroup = "system:authenticated"

// request is the creation of an object.
func (t *target) request(m meta, raw []byte) *admission.Request {
	req := &admission.Request{
		Kind:      metav1.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: t.kind},
		Resource:  metav1.GroupVersionResource{Group: t.Group, Version: t.Version, Resource: t.Resource},
		Name:      m.Name,
		Namespace: m.Namespace,
		Operation: admission.Create,
		UserInfo:  admission.UserInfo{Username: User, Groups: []string{userGroup}},
		Object:    raw,
	}
	if t.isNamespaces() {
		req.Namespace = m.Name // so the API server has it
	}
	return req
}

func (t *target) isNamespaces() bool { return t.Group == "" && t.Resource == "namespaces" }
