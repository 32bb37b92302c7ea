package conversion

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// UnitedDeployment, multi-domain.md §A8: v1alpha1 repeats the replicas and partitions of subsetStatuses in two maps, and
// has the updated revision beside one of them.

func unitedDeploymentUp(w *work) {
	status := w.object(w.top, "status")
	if status == nil {
		return
	}
	update := w.object(status, "updateStatus")
	if update != nil {
		move(update, status, "updatedRevision")
	}
	subsets := subsetStatuses{w: w, status: status}
	subsets.take(w.object(status, "subsetReplicas"), "replicas")
	subsets.take(w.object(update, "currentPartitions"), "partition")
	subsets.write()
	remove(status, "subsetReplicas", "updateStatus")
}

// subsetStatuses is the list of that name while the maps are taken into it.
type subsetStatuses struct {
	w      *work
	status *jsontree.Node
	// added are the entries for subsets that have none, in the order of the maps.
	added []*jsontree.Node
}

// take writes a map's numbers into the entries of its subsets.
func (s *subsetStatuses) take(numbers *jsontree.Node, field string) {
	if numbers == nil {
		return
	}
	for _, m := range numbers.Members() {
		entry := s.entry(m.Name)
		// v1beta1 leaves zeros out.
		if entry != nil && (entry.Get(field) != nil || string(m.Value.Bytes()) != "0") {
			entry.Set(field, m.Value.Bytes())
		}
	}
}

// entry is the entry of a subset, which is made if there is none.
func (s *subsetStatuses) entry(name string) *jsontree.Node {
	for _, entry := range append(s.w.objects(s.status, "subsetStatuses"), s.added...) {
		if entry.TextOf("name") == name {
			return entry
		}
	}
	if s.w.err != nil {
		return nil
	}
	entry, err := jsontree.Parse(append(append(jsontext.Value(`{"name":`), jsontree.Quote(name)...), '}'))
	if err != nil {
		s.w.fail("status.subsetReplicas", "reading the name of a subset: %v", err)
		return nil
	}
	s.added = append(s.added, entry)
	return entry
}

func (s *subsetStatuses) write() {
	if len(s.added) == 0 {
		return
	}
	var list jsontext.Value
	for i, entry := range append(s.w.objects(s.status, "subsetStatuses"), s.added...) {
		list = append(list, "[,"[min(i, 1)])
		list = entry.AppendTo(list)
	}
	s.status.Set("subsetStatuses", append(list, ']'))
}

func unitedDeploymentDown(w *work) {
	status := w.object(w.top, "status")
	if status == nil {
		return
	}
	entries := w.objects(status, "subsetStatuses")
	if len(entries) > 0 {
		replicas := status.Set("subsetReplicas", jsontext.Value("{}"))
		partitions := status.Set("updateStatus", jsontext.Value("{}")).Set("currentPartitions", jsontext.Value("{}"))
		for _, entry := range entries {
			if name := w.text(entry, "name"); name != "" {
				replicas.Set(name, numberOf(entry, "replicas"))
				partitions.Set(name, numberOf(entry, "partition"))
			}
		}
	}
	if revision := status.Get("updatedRevision"); revision != nil {
		w.ensure(status, "updateStatus").Set("updatedRevision", revision.Bytes())
	}
	remove(status, "updatedRevision")
}

// numberOf is a member, 0 if it is absent.
func numberOf(n *jsontree.Node, name string) jsontext.Value {
	if value := n.Get(name); value != nil {
		return value.Bytes()
	}
	return jsontext.Value("0")
}
