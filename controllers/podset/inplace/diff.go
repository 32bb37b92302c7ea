// Package inplace updates running Pods without replacing them (cloneset.md §5): which changes of a template can be made
// in a Pod, in which order its containers take them, and when the update is complete. What is under way is in
// annotations of the Pod, in OpenKruise's JSON, so that either product finishes what the other one began.
package inplace

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
)

// Options switch what may be changed in place beside images and metadata.
type Options struct {
	// EnvFromMetadata restarts containers whose env is made of labels or annotations that change. It needs the node's
	// daemon.
	EnvFromMetadata bool
	// Resources lets CPU and memory be changed.
	Resources bool
}

// Change is what makes a Pod of one revision one of another.
type Change struct {
	// Images are the new images by container.
	Images map[string]string
	// Env are the labels and annotations that containers' env is made of, by container. They are set when the container's
	// turn comes, because they restart it.
	Env map[string]Metadata
	// Resources are the new limits and requests by container, only those that change.
	Resources map[string]corev1.ResourceRequirements
	// Metadata is a strategic merge patch of all other metadata.
	Metadata map[string]any
}

// Metadata are labels and annotations to set.
type Metadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NotPossibleError says why a template cannot be reached in place.
type NotPossibleError struct{ Reason string }

func (e *NotPossibleError) Error() string { return "updating in place is not possible: " + e.Reason }

// Diff compares the data of two revisions. The error is a NotPossibleError if the Pods have to be recreated.
func Diff(old, updated []byte, o Options) (*Change, error) {
	oldTemplate, err := templateTree(old)
	if err != nil {
		return nil, err
	}
	newTemplate, err := templateTree(updated)
	if err != nil {
		return nil, err
	}
	typed, err := revision.Template(updated)
	if err != nil {
		return nil, err
	}
	change := &Change{}
	change.Env, change.Metadata = metadataChanges(oldTemplate, newTemplate, typed.Spec.Containers, o.EnvFromMetadata)
	change.takeContainers(oldTemplate, newTemplate, o)
	if path := firstDifference(oldTemplate["spec"], newTemplate["spec"], "spec"); path != "" {
		return nil, &NotPossibleError{Reason: path + " differs"}
	}
	if len(change.Resources) > 0 {
		if err := sameQOS(old, typed); err != nil {
			return nil, err
		}
	}
	return change, nil
}

// Possible is a NotPossibleError for a Pod in which nobody would make the change: env from metadata takes the node's daemon,
// which reports on every Pod of ours that it looks after. Nothing needs a restart in a Pod whose containers were never started.
func (c *Change) Possible(pod *corev1.Pod) error {
	_, reported := pod.Annotations[v1beta1.RuntimeContainerMetaAnnotation]
	started := func(s corev1.ContainerStatus) bool { return s.ContainerID != "" }
	if len(c.Env) > 0 && !reported && slices.ContainsFunc(pod.Status.ContainerStatuses, started) {
		return &NotPossibleError{Reason: "env made of labels or annotations changes, and no daemon of the Pod's node reports that it would restart the container"}
	}
	return nil
}

func sameQOS(old []byte, updated *corev1.PodTemplateSpec) error {
	before, err := revision.Template(old)
	if err != nil {
		return err
	}
	if from, to := qosClass(&before.Spec), qosClass(&updated.Spec); from != to {
		return &NotPossibleError{Reason: fmt.Sprintf("the quality of service changes from %s to %s", from, to)}
	}
	return nil
}

// templateTree is untyped, so that a field that our types do not know is a difference too.
func templateTree(data []byte) (map[string]any, error) {
	var recorded struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		return nil, fmt.Errorf("reading a revision: %w", err)
	}
	return recorded.Spec.Template, nil
}

// takeContainers moves what may be changed from the trees into the change: what is left must be equal.
func (c *Change) takeContainers(old, updated map[string]any, o Options) {
	oldList, newList := containersOf(old), containersOf(updated)
	for i := range min(len(oldList), len(newList)) {
		before, _ := oldList[i].(map[string]any)
		after, _ := newList[i].(map[string]any)
		name, _ := after["name"].(string)
		if before == nil || after == nil || before["name"] != after["name"] {
			continue
		}
		if image, changed := replaced(before, after, "image"); changed {
			set(&c.Images, name, image)
		}
		if o.Resources {
			c.takeResources(before, after, name)
		}
	}
}

func containersOf(template map[string]any) []any {
	spec, _ := template["spec"].(map[string]any)
	list, _ := spec["containers"].([]any)
	return list
}

// replaced makes one string equal in both and returns the new one. Only what both have can be replaced: setting an
// image that was not there, or taking one away, changes more than an image.
func replaced(before, after map[string]any, key string) (string, bool) {
	from, isString := before[key].(string)
	to, isStringToo := after[key].(string)
	if !isString || !isStringToo || from == to || from == "" || to == "" {
		return "", false
	}
	before[key] = to
	return to, true
}

func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}
