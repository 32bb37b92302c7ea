package containerrecreate

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// update puts back what a client left out of what the creation filled in, so that writing a manifest again, as kubectl
// apply does, changes nothing. What is changed nevertheless is for the rules in Rego to refuse (container-recreate.md §4):
// they judge it the same whether or not this entry has seen it. A request that is being deleted may be changed in any
// way: all that its changes are for is that it can go.
func (h *handler) update(req *admission.Request) (jsontext.Value, error) {
	updated, err := parse(req.Object)
	if err != nil {
		return nil, undecodable(err)
	}
	if updated.metadata.Get("deletionTimestamp") != nil {
		return nil, nil
	}
	if req.OldObject == nil {
		return nil, undecodable(errors.New("the request has no old object"))
	}
	old, err := parse(req.OldObject)
	if err != nil {
		return nil, undecodable(err)
	}
	if !h.enabled {
		if !onlyReleases(old, updated) {
			return nil, refuseDisabled()
		}
		return nil, nil
	}
	updated.restore(old)
	return updated.top.Patch(), nil
}

// ours are the members of metadata that the API server changes with every update.
var ours = []string{"finalizers", "resourceVersion", "managedFields", "generation"}

// onlyReleases says that an update does nothing but take finalizers away, which must be possible when nobody serves
// requests any more: otherwise those that exist could never be deleted.
func onlyReleases(old, updated *request) bool {
	was, is := finalizers(old), finalizers(updated)
	if len(is) >= len(was) || slices.ContainsFunc(is, func(name string) bool { return !slices.Contains(was, name) }) {
		return false
	}
	for _, r := range []*request{old, updated} {
		for _, name := range ours {
			r.metadata.Remove(name)
		}
	}
	return jsontree.Equal(old.top, updated.top)
}

func finalizers(r *request) (names []string) {
	if list := r.metadata.Get("finalizers"); list.IsArray() {
		for _, element := range list.Elements() {
			names = append(names, element.Text())
		}
	}
	return names
}
