// Package apiserver is an API server in this process, as far as controllers can tell: objects with resource versions
// that grow, optimistic concurrency, preconditions, generated names, subresources, finalizers, a grace period for Pods,
// and a record of all changes that watches are served from. Nothing of it waits or runs by itself, so that a run that
// uses it can be repeated step by step.
package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// podGrace is how long a Pod that runs has to end, unless it says otherwise.
const podGrace = 30

// Key names an object. The version of its kind does not matter.
type Key struct {
	Kind            schema.GroupKind
	Namespace, Name string
}

func (k Key) String() string { return k.Kind.Kind + " " + k.Name }

func (k Key) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.Kind.Group, Resource: k.Kind.Kind}
}

// Event is a change that was stored. Object is what a watch shows; nobody may change it.
type Event struct {
	Type    watch.EventType
	Version int64
	Key     Key
	Object  client.Object
}

// Server holds the objects. Stored objects are never changed, only replaced.
type Server struct {
	scheme *runtime.Scheme
	clock  clock.PassiveClock
	// admit completes objects that are created, as admission does.
	admit   func(client.Object)
	objects map[Key]client.Object
	version int64
	uids    int
	log     []Event
}

// New makes an empty server; admit may be nil.
func New(scheme *runtime.Scheme, clock clock.PassiveClock, admit func(client.Object)) *Server {
	if admit == nil {
		admit = func(client.Object) {}
	}
	return &Server{scheme: scheme, clock: clock, admit: admit, objects: map[Key]client.Object{}}
}

// Scheme has the kinds that it serves.
func (s *Server) Scheme() *runtime.Scheme { return s.scheme }

// Version is that of the newest change.
func (s *Server) Version() int64 { return s.version }

// Log is all changes, the oldest first.
func (s *Server) Log() []Event { return s.log }

// KeyOf is the key of an object.
func (s *Server) KeyOf(obj client.Object) Key {
	return Key{Kind: s.KindOf(obj), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// KindOf is the kind of an object, or of a list's items.
func (s *Server) KindOf(obj runtime.Object) schema.GroupKind {
	gvk, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		panic(fmt.Sprintf("the scheme lacks %T: %v", obj, err))
	}
	kind := gvk.GroupKind()
	if _, isList := obj.(client.ObjectList); isList {
		kind.Kind = kind.Kind[:len(kind.Kind)-len("List")]
	}
	return kind
}

// Get is the stored object, which must not be changed.
func (s *Server) Get(key Key) (client.Object, error) {
	obj, there := s.objects[key]
	if !there {
		return nil, apierrors.NewNotFound(key.resource(), key.Name)
	}
	return obj, nil
}

// All are the stored objects of a kind by name, which must not be changed.
func (s *Server) All(kind schema.GroupKind) []client.Object {
	return Sorted(s.objects, kind)
}

// Sorted are the objects of a kind by namespace and name.
func Sorted(objects map[Key]client.Object, kind schema.GroupKind) []client.Object {
	var all []client.Object
	for key, obj := range objects {
		if key.Kind == kind {
			all = append(all, obj)
		}
	}
	slices.SortFunc(all, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// Create stores a new object, and makes obj what was stored.
func (s *Server) Create(obj client.Object) error {
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(fmt.Sprintf("%s%05d", obj.GetGenerateName(), s.version))
	}
	key := s.KeyOf(obj)
	if key.Name == "" {
		return apierrors.NewBadRequest("an object needs metadata.name or metadata.generateName")
	}
	if obj.GetResourceVersion() != "" {
		return apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if _, there := s.objects[key]; there {
		return apierrors.NewAlreadyExists(key.resource(), key.Name)
	}
	s.uids++
	obj.SetUID(types.UID("uid-" + strconv.Itoa(s.uids)))
	obj.SetCreationTimestamp(metav1.NewTime(s.clock.Now().Truncate(timeUnit)))
	obj.SetGeneration(1)
	obj.SetDeletionTimestamp(nil)
	clearStatus(obj)
	if pod, isPod := obj.(*corev1.Pod); isPod {
		pod.Status.Phase = corev1.PodPending
	}
	s.admit(obj)
	s.store(watch.Added, key, obj.DeepCopyObject().(client.Object))
	obj.SetResourceVersion(strconv.FormatInt(s.version, 10))
	return nil
}

// Delete deletes an object, or begins to: it stays while it has finalizers and, a Pod on a node, until its grace ended.
func (s *Server) Delete(key Key, options *client.DeleteOptions) error {
	current, err := s.Get(key)
	if err != nil {
		return err
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != current.GetUID() {
			return apierrors.NewConflict(key.resource(), key.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s)", *p.UID, current.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != current.GetResourceVersion() {
			return apierrors.NewConflict(key.resource(), key.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s)", *p.ResourceVersion, current.GetResourceVersion()))
		}
	}
	if current = s.propagate(key, current, options.PropagationPolicy); current.GetDeletionTimestamp() != nil && len(current.GetFinalizers()) > 0 && options.PropagationPolicy != nil {
		return nil
	}
	grace := graceOf(current, options.GracePeriodSeconds)
	if grace == 0 && len(current.GetFinalizers()) == 0 {
		s.store(watch.Deleted, key, current.DeepCopyObject().(client.Object))
		return nil
	}
	if current.GetDeletionTimestamp() != nil && grace >= *current.GetDeletionGracePeriodSeconds() {
		return nil // it is under way
	}
	ending := current.DeepCopyObject().(client.Object)
	at := metav1.NewTime(s.clock.Now().Truncate(timeUnit).Add(durationOf(grace)))
	ending.SetDeletionTimestamp(&at)
	ending.SetDeletionGracePeriodSeconds(&grace)
	ending.SetGeneration(ending.GetGeneration() + 1)
	s.store(watch.Modified, key, ending)
	return nil
}

// graceOf is 0 for all but Pods that are on a node and have not ended.
func graceOf(obj client.Object, asked *int64) int64 {
	pod, isPod := obj.(*corev1.Pod)
	switch {
	case !isPod || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return 0
	case asked != nil:
		return *asked
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	default:
		return podGrace
	}
}

// Edit changes an object as its node, a user or another controller does, whatever its version.
func (s *Server) Edit(key Key, edit func(client.Object)) error {
	current, err := s.Get(key)
	if err != nil {
		return err
	}
	changed := current.DeepCopyObject().(client.Object)
	edit(changed)
	s.replace(key, current, changed)
	return nil
}

// replace stores a changed object if it did change, or removes it if nothing holds it any longer.
func (s *Server) replace(key Key, current, changed client.Object) {
	if !equality.Semantic.DeepEqual(specOf(current), specOf(changed)) {
		changed.SetGeneration(current.GetGeneration() + 1)
	}
	if equality.Semantic.DeepEqual(current, changed) {
		return
	}
	if changed.GetDeletionTimestamp() != nil && len(changed.GetFinalizers()) == 0 && *changed.GetDeletionGracePeriodSeconds() == 0 {
		s.store(watch.Deleted, key, changed)
		return
	}
	s.store(watch.Modified, key, changed)
}

func (s *Server) store(how watch.EventType, key Key, obj client.Object) {
	s.version++
	obj.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[key] = obj
	if how == watch.Deleted {
		delete(s.objects, key)
	}
	s.log = append(s.log, Event{Type: how, Version: s.version, Key: key, Object: obj})
}

// RestoreSpec gives an object the spec that it had.
func (s *Server) RestoreSpec(as client.Object) error {
	return s.Edit(s.KeyOf(as), func(obj client.Object) { setField(obj, as.DeepCopyObject().(client.Object), "Spec") })
}
