// Package volumeclaim makes the claims and volumes of Pods that have claims of their own (cloneset.md §3.5,
// statefulset.md §7).
package volumeclaim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/dump"
)

// Name is that of the claim that a template makes for a Pod: suffix is the Pod's name.
func Name(template, pod string) string { return template + "-" + pod }

// Volumes are a Pod's: one for each template, under its name, before the volumes of the Pod's own template, of which
// those of the same name give way.
func Volumes(own []corev1.Volume, templates []corev1.PersistentVolumeClaim, pod string) []corev1.Volume {
	volumes := make([]corev1.Volume, 0, len(own)+len(templates))
	for i := range templates {
		volumes = append(volumes, corev1.Volume{Name: templates[i].Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: Name(templates[i].Name, pod)},
		}})
	}
	for _, volume := range own {
		if !slices.ContainsFunc(templates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == volume.Name }) {
			volumes = append(volumes, *volume.DeepCopy())
		}
	}
	return volumes
}

// New is the claim that a template makes for a Pod. labels win over the template's own.
func New(template *corev1.PersistentVolumeClaim, namespace, pod string, labels map[string]string, owners ...metav1.OwnerReference) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: Name(template.Name, pod), Labels: map[string]string{},
			Annotations: maps.Clone(template.Annotations), Finalizers: slices.Clone(template.Finalizers), OwnerReferences: owners,
		},
		Spec: *template.Spec.DeepCopy(),
	}
	maps.Copy(claim.Labels, template.Labels)
	maps.Copy(claim.Labels, labels)
	return claim
}

// maker marks our digests: OpenKruise's, which are plain numbers, are made in another way and say nothing beside ours.
const maker = "f"

// SameHash tells whether two digests may be of the same templates. One that is missing, or of another maker, may be: not
// to know must not recreate Pods.
func SameHash(a, b *string) bool {
	if a == nil || b == nil || *a == *b {
		return true
	}
	return *a != "" && *b != "" && strings.HasPrefix(*a, maker) != strings.HasPrefix(*b, maker)
}

// Hash is a digest of the templates' names and specs, whatever their order; "" for none.
func Hash(templates []corev1.PersistentVolumeClaim) (string, error) {
	if len(templates) == 0 {
		return "", nil
	}
	type named struct {
		Name string
		Spec corev1.PersistentVolumeClaimSpec
	}
	all := make([]named, len(templates))
	for i := range templates {
		all[i] = named{templates[i].Name, templates[i].Spec}
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.Name, b.Name) })
	encoded, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("encoding claim templates: %w", err)
	}
	sum := fnv.New32a()
	_, _ = fmt.Fprint(sum, dump.ForHash(encoded))
	return maker + strconv.FormatUint(uint64(sum.Sum32()), 10), nil
}
