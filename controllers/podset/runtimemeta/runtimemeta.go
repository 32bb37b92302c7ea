// Package runtimemeta reads what the node's daemon reports of a Pod's running containers, and compares it with what the
// Pod asks for (cloneset.md §5.5, daemon.md §6). The daemon makes the same hashes with this package.
package runtimemeta

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// Containers is the annotation's JSON.
type Containers struct {
	Containers []Container `json:"containers"`
}

// Container is what runs under a container's name.
type Container struct {
	Name         string `json:"name"`
	ContainerID  string `json:"containerID"`
	RestartCount int32  `json:"restartCount"`
	Hashes       Hashes `json:"hashes"`
}

// Hashes are what it was started with: the kubelet's hash of its spec, and ours of its env from metadata, which is 0 as
// long as it is not known.
type Hashes struct {
	PlainHash                    uint64 `json:"plainHash"`
	ExtractedEnvFromMetadataHash uint64 `json:"extractedEnvFromMetadataHash,omitempty"`
}

// Read is the Pod's report, nil if it has none.
func Read(pod *corev1.Pod) (*Containers, error) {
	text, there := pod.Annotations[v1beta1.RuntimeContainerMetaAnnotation]
	if !there {
		return nil, nil
	}
	report := &Containers{}
	if err := json.Unmarshal([]byte(text), report); err != nil {
		return nil, fmt.Errorf("reading annotation %s: %w", v1beta1.RuntimeContainerMetaAnnotation, err)
	}
	return report, nil
}

// Consistent tells whether every container of the Pod's spec runs as reported and as same says it should.
func (c *Containers) Consistent(pod *corev1.Pod, same func(*corev1.Container, Hashes) bool) bool {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		status := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container.Name })
		reported := slices.IndexFunc(c.Containers, func(m Container) bool { return m.Name == container.Name })
		if status < 0 || reported < 0 || pod.Status.ContainerStatuses[status].ContainerID != c.Containers[reported].ContainerID ||
			!same(container, c.Containers[reported].Hashes) {
			return false
		}
	}
	return true
}

// SamePlain compares the kubelet's hash: before Kubernetes 1.31 of the whole container, since then of name and image.
func SamePlain(container *corev1.Container, hashes Hashes) bool {
	return hashes.PlainHash == jsonHash(map[string]string{"name": container.Name, "image": container.Image}) ||
		hashes.PlainHash == jsonHash(container)
}

// jsonHash is the kubelet's hash, of a dump of the JSON's bytes.
func jsonHash(of any) uint64 {
	encoded, err := json.Marshal(of)
	if err != nil {
		panic(fmt.Sprintf("encoding a part of a Pod: %v", err))
	}
	sum := fnv.New32a()
	_, _ = fmt.Fprint(sum, dump.ForHash(encoded))
	return uint64(sum.Sum32())
}

// SameEnv compares the hash of the container's env from metadata with what the Pod's metadata makes it now.
func SameEnv(pod *corev1.Pod) func(*corev1.Container, Hashes) bool {
	return func(container *corev1.Container, hashes Hashes) bool {
		return hashes.ExtractedEnvFromMetadataHash == EnvHash(container, func(ref FieldRef, _ string) string { return ref.value(pod) })
	}
}

// EnvHash is the hash of those of a container's variables that come from the Pod's metadata. value gives each one's: as
// the metadata has it, or as the running container has the variable of that name.
func EnvHash(container *corev1.Container, value func(ref FieldRef, variable string) string) uint64 {
	var all []corev1.EnvVar // nil without any, which encodes as null: the hash of none is the reference's, and not 0
	for _, env := range container.Env {
		if ref, ok := FromMetadata(env); ok {
			all = append(all, corev1.EnvVar{Name: env.Name, Value: value(ref, env.Name)})
		}
	}
	slices.SortStableFunc(all, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	return jsonHash(all)
}

// FieldRef is a label or annotation that a variable is made of.
type FieldRef struct {
	Annotation bool
	Key        string
}

func (r FieldRef) value(pod *corev1.Pod) string {
	if r.Annotation {
		return pod.Annotations[r.Key]
	}
	return pod.Labels[r.Key]
}

// FromMetadata is the label or annotation that makes a variable. The two that hot upgrades of sidecars use do not count:
// they change while their container must go on.
func FromMetadata(env corev1.EnvVar) (FieldRef, bool) {
	if env.Value != "" || env.ValueFrom == nil || env.ValueFrom.FieldRef == nil ||
		env.Name == v1beta1.SidecarVersionEnv || env.Name == v1beta1.SidecarVersionAltEnv {
		return FieldRef{}, false
	}
	path := env.ValueFrom.FieldRef.FieldPath
	for prefix, annotation := range map[string]bool{"metadata.labels['": false, "metadata.annotations['": true} {
		if key, found := strings.CutPrefix(path, prefix); found && strings.HasSuffix(key, "']") {
			return FieldRef{Annotation: annotation, Key: strings.TrimSuffix(key, "']")}, true
		}
	}
	return FieldRef{}, false
}
