package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// timeUnit is that of times in objects.
const timeUnit = time.Second

func durationOf(seconds int64) time.Duration { return time.Duration(seconds) * time.Second }

// Patch applies a patch to an object or to one of its subresources ("" is the object), and gives what it is then.
func (s *Server) Patch(key Key, subresource string, how types.PatchType, patch []byte) (client.Object, error) {
	current, err := s.Get(key)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(current)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", key, err)
	}
	after, err := apply(before, current, how, patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	changed := reflect.New(reflect.TypeOf(current).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(after, changed); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.write(key, subresource, current, changed)
}

// Update replaces an object or one of its subresources, and gives what it is then.
func (s *Server) Update(obj client.Object, subresource string) (client.Object, error) {
	key := s.KeyOf(obj)
	current, err := s.Get(key)
	if err != nil {
		return nil, err
	}
	return s.write(key, subresource, current, obj.DeepCopyObject().(client.Object))
}

func apply(document []byte, typed client.Object, how types.PatchType, patch []byte) ([]byte, error) {
	switch how {
	case types.MergePatchType:
		return jsonpatch.MergePatch(document, patch)
	case types.StrategicMergePatchType:
		return strategicpatch.StrategicMergePatch(document, patch, typed)
	case types.JSONPatchType:
		decoded, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, err
		}
		return decoded.Apply(document)
	default:
		return nil, fmt.Errorf("patches of type %s are not served", how)
	}
}

// write stores what a client made of current. A resource version in it must be that of current; none is any.
func (s *Server) write(key Key, subresource string, current, changed client.Object) (client.Object, error) {
	if v := changed.GetResourceVersion(); v != "" && v != current.GetResourceVersion() {
		return nil, apierrors.NewConflict(key.resource(), key.Name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if changed.GetUID() != current.GetUID() {
		invalid := apierrors.NewInvalid(key.Kind, key.Name, nil)
		invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.uid", Message: "field is immutable"}}
		return nil, invalid
	}
	changed, err := restrict(key, subresource, current, changed)
	if err != nil {
		return nil, err
	}
	changed.SetResourceVersion(current.GetResourceVersion())
	changed.SetGeneration(current.GetGeneration())
	changed.SetCreationTimestamp(current.GetCreationTimestamp())
	changed.SetDeletionTimestamp(current.GetDeletionTimestamp())
	changed.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	s.replace(key, current, changed)
	if now, err := s.Get(key); err == nil {
		return now, nil
	}
	return changed, nil // its last finalizer is gone, and so is it
}

// restrict lets a write change what its subresource has, and of a Pod's spec what may be changed at all.
func restrict(key Key, subresource string, current, changed client.Object) (client.Object, error) {
	switch subresource {
	case "":
		setField(changed, current, "Status")
		return changed, mutable(key, current, changed, func(c *corev1.Container) { c.Image = "" })
	case "status":
		status := current.DeepCopyObject().(client.Object)
		setField(status, changed, "Status")
		if _, isPod := current.(*corev1.Pod); isPod { // whose metadata comes along, but for its owners
			setField(status, changed, "ObjectMeta")
			status.SetOwnerReferences(current.GetOwnerReferences())
		}
		return status, nil
	case "resize":
		resized := current.DeepCopyObject().(client.Object)
		setField(resized, changed, "Spec")
		return resized, mutable(key, current, resized, func(c *corev1.Container) { c.Resources = corev1.ResourceRequirements{} })
	default:
		return nil, apierrors.NewNotFound(key.resource(), key.Name+"/"+subresource)
	}
}

// mutable refuses a change of a Pod's spec outside what forget takes out of each container.
func mutable(key Key, current, changed client.Object, forget func(*corev1.Container)) error {
	old, isPod := current.(*corev1.Pod)
	if !isPod {
		return nil
	}
	before, after := old.Spec.DeepCopy(), changed.(*corev1.Pod).Spec.DeepCopy()
	for _, spec := range []*corev1.PodSpec{before, after} {
		for i := range spec.Containers {
			forget(&spec.Containers[i])
		}
	}
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	invalid := apierrors.NewInvalid(key.Kind, key.Name, nil)
	invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeForbidden, Field: "spec", Message: "pod updates may not change other fields"}}
	return invalid
}

func field(obj client.Object, name string) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName(name)
}

func specOf(obj client.Object) any {
	if f := field(obj, "Spec"); f.IsValid() {
		return f.Interface()
	}
	return nil
}

// setField makes a field of an object what it is in another, if their kind has it.
func setField(of, from client.Object, name string) {
	if f := field(of, name); f.IsValid() {
		f.Set(field(from, name))
	}
}

func clearStatus(obj client.Object) {
	if f := field(obj, "Status"); f.IsValid() {
		f.SetZero()
	}
}
