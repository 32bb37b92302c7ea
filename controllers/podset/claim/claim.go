// Package claim tells which Pods are a workload's (cloneset.md §3.1, statefulset.md §7, daemonset.md §15): those it
// controls, less those whose labels have left its selector, and, for workloads that adopt, orphans that match.
package claim

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// OwnerField is the cache's index of objects by the UID of their controller; Index fills it.
const OwnerField = ".metadata.controller.uid"

// Index is the value of OwnerField.
func Index(obj client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// Owner is the workload that claims.
type Owner struct {
	UID  types.UID
	Kind schema.GroupKind
	// Selector is what its Pods' labels must match.
	Selector labels.Selector
	// Adopts tells whether it takes a Pod without a controller, whose labels match; nil is none.
	Adopts func(*corev1.Pod) bool
}

// Controls tells whether the workload is the object's controller. The version of the reference does not matter: it is
// the one that was served when the object was made.
func Controls(uid types.UID, kind schema.GroupKind, obj metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.UID != uid || ref.Kind != kind.Kind {
		return false
	}
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && version.Group == kind.Group
}

// Pods are the workload's.
type Pods struct {
	// Active count; Inactive have ended or are ending.
	Active, Inactive []*corev1.Pod
	// Release are to go their own way, Adopt to be taken. They are in neither of the other lists.
	Release, Adopt []*corev1.Pod
}

// Role is what a Pod is to a workload.
type Role int

// The roles are the lists of Pods; a stranger is in none.
const (
	Stranger Role = iota
	Active
	Inactive
	Release
	Adopt
)

// RoleOf is that of a Pod of the workload's namespace. Pods that end are left as they are: whose they were tells the user
// why they are there.
func (o Owner) RoleOf(pod *corev1.Pod) Role {
	active, matches, ours := podstate.Active(pod), o.Selector.Matches(labels.Set(pod.Labels)), Controls(o.UID, o.Kind, pod)
	switch {
	case ours && !active:
		return Inactive
	case ours && matches:
		return Active
	case ours:
		return Release
	case active && matches && o.Adopts != nil && metav1.GetControllerOfNoCopy(pod) == nil && o.Adopts(pod):
		return Adopt
	default:
		return Stranger
	}
}

// Add adds a Pod to the list of its role.
func (p *Pods) Add(pod *corev1.Pod, role Role) {
	switch role {
	case Active:
		p.Active = append(p.Active, pod)
	case Inactive:
		p.Inactive = append(p.Inactive, pod)
	case Release:
		p.Release = append(p.Release, pod)
	case Adopt:
		p.Adopt = append(p.Adopt, pod)
	case Stranger:
	}
}

// ReleasePatch takes the workload out of the Pod's owners.
func ReleasePatch(pod *corev1.Pod, uid types.UID) client.Patch {
	return ownersPatch(pod, map[string]any{"$patch": "delete", "uid": uid})
}

// AdoptPatch makes the workload the Pod's controller, if the Pod is still as it was: another may have taken it.
func AdoptPatch(pod *corev1.Pod, owner metav1.OwnerReference) client.Patch {
	return ownersPatch(pod, owner)
}

func ownersPatch(pod *corev1.Pod, reference any) client.Patch {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion, "ownerReferences": []any{reference},
	}})
	if err != nil {
		panic(fmt.Sprintf("encoding an owner reference: %v", err))
	}
	return client.RawPatch(types.StrategicMergePatchType, data)
}
