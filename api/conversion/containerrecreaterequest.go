package conversion

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// ContainerRecreateRequest, container-recreate.md §2.4: v1alpha1 has two annotations for what is in v1beta1's status.

// preRecreateGrace is the type of the condition, and its reason.
const preRecreateGrace = "PreRecreateGrace"

func recreateRequestUp(w *work) {
	if snapshot := takeSnapshot(w); snapshot != nil {
		if status := w.ensure(w.top, "status"); status != nil {
			status.Set("containerStatusSnapshot", snapshot)
		}
	}
	if at := takeUnreadySince(w); at != "" {
		if status := w.ensure(w.top, "status"); status != nil {
			setGrace(w, status, at)
		}
	}
}

// takeSnapshot removes the annotation and returns what it says, nil if nothing.
func takeSnapshot(w *work) jsontext.Value {
	text, there := w.tag(annotations, v1beta1.ContainerRecreateRequestSyncStatuses)
	if !there {
		return nil
	}
	w.removeTag(annotations, v1beta1.ContainerRecreateRequestSyncStatuses)
	snapshot, err := jsontree.Parse(jsontext.Value(text))
	if err != nil || !isSnapshot(snapshot) {
		w.note(annotationPath(v1beta1.ContainerRecreateRequestSyncStatuses), "dropped, it is no list of container statuses")
		return nil
	}
	return compact(snapshot.Bytes())
}

// isSnapshot says whether v1beta1 can hold a snapshot. Nobody but this looks at what comes from the annotation, which
// every client may write: with one element of a wrong type, nobody could list the requests of the cluster any more.
func isSnapshot(list *jsontree.Node) bool {
	var typed []v1beta1.ContainerRecreateRequestContainerStatus
	if !list.IsArray() || json.Unmarshal(list.Bytes(), &typed, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return false
	}
	for _, status := range list.Elements() {
		if !status.IsObject() || status.Get("name") == nil || status.Get("ready") == nil || status.Get("restartCount") == nil {
			return false // the schema requires them, and would refuse the next write of the object
		}
	}
	return true
}

// takeUnreadySince removes the annotation and returns its time in UTC, "" if there is none.
func takeUnreadySince(w *work) string {
	text, there := w.tag(annotations, v1beta1.ContainerRecreateRequestUnreadyAcquired)
	if !there {
		return ""
	}
	w.removeTag(annotations, v1beta1.ContainerRecreateRequestUnreadyAcquired)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		w.note(annotationPath(v1beta1.ContainerRecreateRequestUnreadyAcquired), "dropped, it is no RFC 3339 time")
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// setGrace adds the condition, instead of one of its type.
func setGrace(w *work, status *jsontree.Node, at string) {
	condition := jsontext.Value(`{"type":"` + preRecreateGrace + `","status":"True","lastTransitionTime":"` + at +
		`","reason":"` + preRecreateGrace + `","message":""}`)
	list := jsontext.Value{'['}
	for _, other := range w.objects(status, "conditions") {
		if w.text(other, "type") != preRecreateGrace {
			list = append(other.AppendTo(list), ',')
		}
	}
	status.Set("conditions", append(append(list, condition...), ']'))
}

func recreateRequestDown(w *work) {
	status := w.object(w.top, "status")
	if snapshot := get(status, "containerStatusSnapshot"); isSnapshot(snapshot) && len(snapshot.Elements()) > 0 {
		w.setTag(annotations, v1beta1.ContainerRecreateRequestSyncStatuses, string(compact(snapshot.Bytes())))
	} else {
		w.removeTag(annotations, v1beta1.ContainerRecreateRequestSyncStatuses)
	}
	w.removeTag(annotations, v1beta1.ContainerRecreateRequestUnreadyAcquired)
	for _, condition := range w.objects(status, "conditions") {
		at, err := time.Parse(time.RFC3339, w.text(condition, "lastTransitionTime"))
		if err == nil && w.text(condition, "type") == preRecreateGrace && w.text(condition, "status") == "True" {
			w.setTag(annotations, v1beta1.ContainerRecreateRequestUnreadyAcquired, at.UTC().Format(time.RFC3339))
		}
	}
	remove(status, "containerStatusSnapshot", "conditions")
}

// recreateRequestCanonical drops what cannot be read, and respells the rest.
func recreateRequestCanonical(w *work) {
	if snapshot := takeSnapshot(w); snapshot != nil && string(snapshot) != "[]" {
		w.setTag(annotations, v1beta1.ContainerRecreateRequestSyncStatuses, string(snapshot))
	}
	if at := takeUnreadySince(w); at != "" {
		w.setTag(annotations, v1beta1.ContainerRecreateRequestUnreadyAcquired, at)
	}
}

// compact drops white space.
func compact(value jsontext.Value) jsontext.Value {
	compacted := value.Clone()
	if err := compacted.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return value // it was read before, so that there is nothing to fail on
	}
	return compacted
}
