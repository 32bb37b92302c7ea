package sidecarset

import (
	"bytes"
	"maps"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// metadataPatch is an item of patchPodMetadata (sidecarset.md §4.8).
type metadataPatch struct {
	Annotations map[string]string `json:"annotations"`
	PatchPolicy string            `json:"patchPolicy"`
}

// patchMetadata sets the annotations that a SidecarSet has for its Pods. What no policy names behaves like Retain, which
// takes nothing away.
func patchMetadata(pod *podview.Pod, set *Compiled) error {
	for _, patch := range set.metadataPatches {
		for _, key := range slices.Sorted(maps.Keys(patch.Annotations)) {
			value := patch.Annotations[key]
			old, present := pod.Annotations[key]
			switch {
			case patch.PatchPolicy == "Overwrite", !present:
			case patch.PatchPolicy == "MergePatchJson":
				merged, err := mergeJSON(old, value)
				if err != nil {
					return admission.Refuse(400, "SidecarSet %s: patchPodMetadata merges JSON into annotation %s: %v; "+
						"correct the Pod's annotation or the SidecarSet", set.name, key, err)
				}
				value = merged
			default:
				continue
			}
			pod.SetAnnotation(key, value)
		}
	}
	return nil
}

// mergeJSON is the RFC 7396 merge of two texts. An empty old value takes the patch as it is, and so does one that took
// it before; one that says the same after the merge stays as it is spelt.
func mergeJSON(old, patch string) (string, error) {
	if old == "" || old == patch {
		return patch, nil
	}
	merged, err := jsonpatch.MergePatch([]byte(old), []byte(patch))
	if err != nil {
		return "", err
	}
	if sameText(jsontext.Value(old), merged) {
		return old, nil
	}
	return string(merged), nil
}

// sameText tells whether two JSON texts differ at most in white space and the order of members.
func sameText(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	for _, v := range []*jsontext.Value{&a, &b} {
		if err := v.Format(readOptions, jsontext.ReorderRawObjects(true)); err != nil {
			return false
		}
	}
	return bytes.Equal(a, b)
}
