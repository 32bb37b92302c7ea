package inplace

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/controllers/podset/runtimemeta"
)

// metadataChanges are the keys that containers' env is made of, by container, and a patch of everything else. Keys are
// compared one by one, also where one template has no labels or annotations at all.
func metadataChanges(old, updated map[string]any, containers []corev1.Container, envFromMetadata bool) (map[string]Metadata, map[string]any) {
	before, after := section(old, "metadata"), section(updated, "metadata")
	var env map[string]Metadata
	if envFromMetadata {
		for _, annotations := range []bool{false, true} {
			takeEnv(&env, before, after, containers, annotations)
		}
	}
	return env, metadataPatch(before, after)
}

func section(tree map[string]any, name string) map[string]any {
	s, _ := tree[name].(map[string]any)
	if s == nil {
		s = map[string]any{}
	}
	return s
}

// takeEnv moves set or changed keys that some container's env is made of out of the trees. A removed key stays there:
// it is deleted from the Pod, and restarts nothing.
func takeEnv(env *map[string]Metadata, before, after map[string]any, containers []corev1.Container, annotations bool) {
	name := "labels"
	if annotations {
		name = "annotations"
	}
	from, to := section(before, name), section(after, name)
	for key, value := range to {
		text, isString := value.(string)
		if old, there := from[key]; !isString || there && old == value {
			continue
		}
		taken := false
		for i := range containers {
			if !refersTo(&containers[i], runtimemeta.FieldRef{Annotation: annotations, Key: key}) {
				continue
			}
			taken = true
			m := (*env)[containers[i].Name]
			if annotations {
				set(&m.Annotations, key, text)
			} else {
				set(&m.Labels, key, text)
			}
			set(env, containers[i].Name, m)
		}
		if taken {
			delete(from, key)
			delete(to, key)
		}
	}
}

func refersTo(container *corev1.Container, key runtimemeta.FieldRef) bool {
	for _, env := range container.Env {
		if ref, ok := runtimemeta.FromMetadata(env); ok && ref == key {
			return true
		}
	}
	return false
}

// metadataPatch never says that a whole map or list goes: the Pod has labels, annotations and finalizers from elsewhere.
func metadataPatch(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for _, name := range []string{"labels", "annotations"} {
		changes, to := map[string]any{}, section(after, name)
		for key := range section(before, name) {
			if _, stays := to[key]; !stays {
				changes[key] = nil
			}
		}
		for key, value := range to {
			if old, there := section(before, name)[key]; !there || old != value {
				changes[key] = value
			}
		}
		if len(changes) > 0 {
			patch[name] = changes
		}
	}
	from, _ := before[finalizers].([]any)
	to, _ := after[finalizers].([]any)
	if added := without(to, from); len(added) > 0 {
		patch[finalizers] = added
	}
	if removed := without(from, to); len(removed) > 0 {
		patch["$deleteFromPrimitiveList/"+finalizers] = removed
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

const finalizers = "finalizers"

func without(list, others []any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(f any) bool { return slices.Contains(others, f) })
}

// patchedMetadata is what a patch of a Pod does to its metadata, nil for nothing. One that OpenKruise wrote may say that
// a whole map or list goes, which would take what the Pod has from elsewhere with it: that is left out.
func patchedMetadata(data []byte) (map[string]any, error) {
	var patch struct {
		Metadata map[string]any `json:"metadata"`
	}
	if len(data) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("reading a patch of metadata: %w", err)
	}
	for key, value := range patch.Metadata {
		if value == nil {
			delete(patch.Metadata, key)
		}
	}
	return patch.Metadata, nil
}
