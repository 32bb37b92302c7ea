package containerrecreate

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-io/fairlead/api/apps/v1alpha1"
	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// update refuses changes of what was captured (container-recreate.md §4). A request that is being deleted may be
// changed in any way: all that its changes are for is that it can go.
func (h *handler) update(req *admission.Request) error {
	updated, err := parse(req.Object)
	if err != nil {
		return undecodable(err)
	}
	if updated.metadata.Get("deletionTimestamp") != nil {
		return nil
	}
	if req.OldObject == nil {
		return undecodable(errors.New("the request has no old object"))
	}
	old, err := parse(req.OldObject)
	if err != nil {
		return undecodable(err)
	}
	if !h.enabled && !onlyReleases(old, updated) {
		return refuseDisabled()
	}
	if same, err := sameSpec(old.spec, updated.spec); err != nil {
		return undecodable(err)
	} else if !same {
		return admission.Refuse(403, "spec: Forbidden: a ContainerRecreateRequest cannot be changed; delete it and create another one")
	}
	for _, key := range []string{v1beta1.ContainerRecreateRequestPodUIDLabel, v1beta1.ContainerRecreateRequestNodeNameLabel} {
		if was, is := value(old, "labels", key), value(updated, "labels", key); was != is {
			return admission.Refuse(403, "metadata.labels[%s]: Forbidden: it cannot be changed from %q to %q", key, was, is)
		}
	}
	if req.Kind.Version == v1alpha1.GroupVersion.Version {
		return keepUnreadyTime(old, updated)
	}
	return nil
}

// keepUnreadyTime guards the moment from which v1alpha1 counts the grace period: moved, it would never be over.
func keepUnreadyTime(old, updated *request) error {
	const key = v1beta1.ContainerRecreateRequestUnreadyAcquired
	if was, is := value(old, "annotations", key), value(updated, "annotations", key); was != "" && was != is {
		return admission.Refuse(403, "metadata.annotations[%s]: Forbidden: it cannot be changed from %q to %q once it is set", key, was, is)
	}
	return nil
}

func value(r *request, in, key string) string {
	if part := r.metadata.Object(in); part != nil {
		return part.TextOf(key)
	}
	return ""
}

// sameSpec compares what the specs mean: a client that decodes and encodes a request leaves out what is false or
// empty, and changes nothing by that.
func sameSpec(a, b *jsontree.Node) (bool, error) {
	if jsontree.Equal(a, b) {
		return true, nil
	}
	was, err := decodeSpec(a)
	if err != nil {
		return false, err
	}
	is, err := decodeSpec(b)
	if err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(was, is), nil
}

// decodeSpec serves both versions, whose specs have the same fields.
func decodeSpec(n *jsontree.Node) (spec v1beta1.ContainerRecreateRequestSpec, err error) {
	return spec, json.Unmarshal(n.Bytes(), &spec, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
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
