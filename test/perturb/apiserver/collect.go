package apiserver

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
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
