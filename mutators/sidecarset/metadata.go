package sidecarset

import (
	"maps"
	"slices"

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
