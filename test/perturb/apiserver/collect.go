package apiserver

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Orphan is an object whose owners are all gone, which the garbage collector is to delete; false if there is none.
func (s *Server) Orphan() (Key, bool) {
	alive := map[types.UID]bool{}
	for _, obj := range s.objects {
		alive[obj.GetUID()] = true
	}
	found, has := Key{}, false
	for key, obj := range s.objects {
		if obj.GetDeletionTimestamp() != nil || len(obj.GetOwnerReferences()) == 0 || has && !before(key, found) {
			continue
		}
		owned := false
		for _, ref := range obj.GetOwnerReferences() {
			owned = owned || alive[ref.UID]
		}
		if !owned {
			found, has = key, true
		}
	}
	return found, has
}

// propagate notes on an object that is to be deleted what becomes of those that it owns, and gives what it is then.
func (s *Server) propagate(key Key, current client.Object, policy *metav1.DeletionPropagation) client.Object {
	finalizer := ""
	switch {
	case policy == nil:
	case *policy == metav1.DeletePropagationOrphan:
		finalizer = metav1.FinalizerOrphanDependents
	case *policy == metav1.DeletePropagationForeground:
		finalizer = metav1.FinalizerDeleteDependents
	}
	if finalizer == "" {
		return current
	}
	_ = s.Edit(key, func(obj client.Object) {
		now, none := metav1.NewTime(s.clock.Now().Truncate(timeUnit)), int64(0)
		obj.SetFinalizers(append(obj.GetFinalizers(), finalizer))
		obj.SetDeletionTimestamp(&now)
		obj.SetDeletionGracePeriodSeconds(&none)
	})
	return s.objects[key]
}

// Collect does one thing that the garbage collector has to do for an object that is being deleted with a policy, and
// tells whether there was one: it frees or deletes one that the object owns, and in the end lets the object go.
func (s *Server) Collect() (did string) {
	for _, owner := range s.ending() {
		orphans := slices.Contains(owner.GetFinalizers(), metav1.FinalizerOrphanDependents)
		waits := false
		for _, obj := range s.ownedBy(owner.GetUID()) {
			key := s.KeyOf(obj)
			switch {
			case orphans:
				_ = s.Edit(key, func(obj client.Object) { disown(obj, owner.GetUID()) })
				return "frees " + key.String()
			case obj.GetDeletionTimestamp() == nil:
				_ = s.Delete(key, &client.DeleteOptions{})
				return "deletes " + key.String()
			default:
				waits = true
			}
		}
		if !waits {
			_ = s.Edit(s.KeyOf(owner), func(obj client.Object) {
				obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), isPropagation))
			})
			return "lets " + s.KeyOf(owner).String() + " go"
		}
	}
	return ""
}

func isPropagation(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// ending are the objects that are being deleted with a policy, by key.
func (s *Server) ending() []client.Object {
	return s.those(func(obj client.Object) bool {
		return obj.GetDeletionTimestamp() != nil && slices.ContainsFunc(obj.GetFinalizers(), isPropagation)
	})
}

func (s *Server) ownedBy(uid types.UID) []client.Object {
	return s.those(func(obj client.Object) bool {
		return slices.ContainsFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == uid })
	})
}

func (s *Server) those(are func(client.Object) bool) []client.Object {
	var keys []Key
	for key, obj := range s.objects {
		if are(obj) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	objs := make([]client.Object, len(keys))
	for i, key := range keys {
		objs[i] = s.objects[key]
	}
	return objs
}

func disown(obj client.Object, uid types.UID) {
	obj.SetOwnerReferences(slices.DeleteFunc(slices.Clone(obj.GetOwnerReferences()), func(ref metav1.OwnerReference) bool { return ref.UID == uid }))
}

func before(a, b Key) bool {
	if a.Kind.Kind != b.Kind.Kind {
		return a.Kind.Kind < b.Kind.Kind
	}
	return a.Name < b.Name
}

// Pods are the stored Pods by name, which must not be changed.
func (s *Server) Pods() []*corev1.Pod {
	all := s.All(PodKind)
	pods := make([]*corev1.Pod, len(all))
	for i, obj := range all {
		pods[i] = obj.(*corev1.Pod)
	}
	return pods
}

// PodKind is the kind of Pods.
var PodKind = corev1.SchemeGroupVersion.WithKind("Pod").GroupKind()

// Snapshot is a copy that goes its own way, by its own clock.
func (s *Server) Snapshot(clock clock.PassiveClock) *Server {
	copied := *s
	copied.clock = clock
	copied.objects = maps.Clone(s.objects)
	copied.log = slices.Clip(s.log)
	return &copied
}
