// Package podpatch collects changes to a Pod and writes them as one strategic merge patch. Pods are never written
// whole: what a cache left out, or our types do not know, would be lost.
package podpatch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch is a set of changes to one Pod's metadata and containers. Make it with New.
type Patch struct {
	uid             types.UID
	resourceVersion string
	metadata        map[string]any
	containers      map[string]map[string]any
}

// New is an empty patch. It applies only to the Pod with this UID, not to a later one of its name.
func New(pod *corev1.Pod) *Patch {
	return &Patch{uid: pod.UID}
}

// Guard makes the patch apply only to the Pod as it is now: what was read of it decides what is written.
func (p *Patch) Guard(pod *corev1.Pod) *Patch {
	p.resourceVersion = pod.ResourceVersion
	return p
}

// Metadata adds a strategic merge patch of metadata, such as strategicpatch makes of two templates. Later changes to
// the same labels and annotations win.
func (p *Patch) Metadata(patch map[string]any) *Patch {
	mergeInto(p.meta(), patch)
	return p
}

// mergeInto overlays maps of maps; a null, which deletes, is a value like any other.
func mergeInto(to, from map[string]any) {
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		if existing, ok := to[key].(map[string]any); ok && isMap {
			mergeInto(existing, inner)
			continue
		}
		if isMap {
			copied := map[string]any{}
			mergeInto(copied, inner)
			value = copied
		}
		to[key] = value
	}
}

// meta is made when it is needed: of the patches of many Pods most stay empty.
func (p *Patch) meta() map[string]any {
	if p.metadata == nil {
		p.metadata = map[string]any{}
	}
	return p.metadata
}

func (p *Patch) section(name string) map[string]any {
	section, ok := p.metadata[name].(map[string]any)
	if !ok {
		section = map[string]any{}
		p.meta()[name] = section
	}
	return section
}

// Label sets a label.
func (p *Patch) Label(key, value string) *Patch {
	p.section("labels")[key] = value
	return p
}

// Annotate sets an annotation.
func (p *Patch) Annotate(key, value string) *Patch {
	p.section("annotations")[key] = value
	return p
}

// RemoveAnnotation removes an annotation; one that is not there is no error.
func (p *Patch) RemoveAnnotation(key string) *Patch {
	p.section("annotations")[key] = nil
	return p
}

// AddFinalizers adds finalizers that are not there yet.
func (p *Patch) AddFinalizers(finalizers ...string) *Patch {
	if len(finalizers) > 0 {
		listed, _ := p.metadata["finalizers"].([]any)
		for _, f := range finalizers {
			listed = append(listed, f)
		}
		p.meta()["finalizers"] = listed
	}
	return p
}

// Image sets the image of a container.
func (p *Patch) Image(container, image string) *Patch {
	p.container(container)["image"] = image
	return p
}

// Resources sets those limits and requests of a container that are given.
func (p *Patch) Resources(container string, resources corev1.ResourceRequirements) *Patch {
	p.container(container)["resources"] = resources
	return p
}

func (p *Patch) container(name string) map[string]any {
	if p.containers == nil {
		p.containers = map[string]map[string]any{}
	}
	if p.containers[name] == nil {
		p.containers[name] = map[string]any{"name": name}
	}
	return p.containers[name]
}

// Empty tells whether the patch would change nothing.
func (p *Patch) Empty() bool { return len(p.metadata) == 0 && len(p.containers) == 0 }

// Meta is what the patch has of metadata, with what it applies to.
func (p *Patch) Meta() map[string]any {
	metadata := maps.Clone(p.meta())
	metadata["uid"] = p.uid
	if p.resourceVersion != "" {
		metadata["resourceVersion"] = p.resourceVersion
	}
	return metadata
}

// MarshalJSON is the patch as it is sent.
func (p *Patch) MarshalJSON() ([]byte, error) {
	patch := map[string]any{"metadata": p.Meta()}
	if len(p.containers) > 0 {
		list := make([]any, 0, len(p.containers))
		for _, name := range slices.Sorted(maps.Keys(p.containers)) {
			list = append(list, p.containers[name])
		}
		patch["spec"] = map[string]any{"containers": list}
	}
	return json.Marshal(patch)
}

// Type and Data make the patch one that a client sends.
func (p *Patch) Type() types.PatchType { return types.StrategicMergePatchType }

// Data is the patch as it is sent.
func (p *Patch) Data(client.Object) ([]byte, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch of Pod: %w", err)
	}
	return data, nil
}
