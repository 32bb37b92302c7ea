package podunavailablebudget

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pub "github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// maxRemembered bounds what is remembered of pub.Workloads, most of which are long gone when there are so many.
const maxRemembered = 20000

// scale is what a workload says of its size.
type scale struct {
	uid      types.UID
	replicas int
	// selector is that of its Pods, "" if it does not say.
	selector string
}

// workloads read sizes through the scale subresource, which every kind has that has a size. Kinds whose metadata is in the
// cache are asked again only when their generation changes: replicas cannot change without it.
type workloads struct {
	cache client.Reader
	live  client.Client
	// followed are the kinds in the cache, in the version that is watched.
	followed map[schema.GroupKind]string

	mu         sync.Mutex
	remembered map[types.UID]remembered
}

type remembered struct {
	generation int64
	scale      scale
}

// size is the scale of a workload; ok is false if it is missing, terminating, or of a kind that has no size.
func (w *workloads) size(ctx context.Context, namespace string, of pub.Workload) (s scale, ok bool, err error) {
	version, followed := w.followed[groupKind(of)]
	if !followed {
		s, ok, err = w.ask(ctx, namespace, of)
		if errors.Is(err, errUnsized) {
			return w.unsized(ctx, namespace, of, err)
		}
		return s, ok, err
	}
	object, err := w.metadata(ctx, namespace, of, version)
	if err != nil || object == nil || object.DeletionTimestamp != nil {
		return scale{}, false, err
	}
	w.mu.Lock()
	known, there := w.remembered[object.UID]
	w.mu.Unlock()
	if there && known.generation == object.Generation {
		return known.scale, true, nil
	}
	// What is read now may be of a later generation; then that comes with an event, and is asked for again.
	s, ok, err = w.ask(ctx, namespace, of)
	if errors.Is(err, errUnsized) {
		s, ok, err = scale{uid: object.UID, replicas: undefaulted}, true, nil
	}
	if err != nil || !ok || s.uid != object.UID {
		return s, ok, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.remembered) >= maxRemembered {
		clear(w.remembered)
	}
	w.remembered[object.UID] = remembered{object.Generation, s}
	return s, true, nil
}

// metadata is a workload's from the cache, nil if it is not there.
func (w *workloads) metadata(ctx context.Context, namespace string, of pub.Workload, version string) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(groupKind(of).WithVersion(version))
	err := w.cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: of.Name}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", of.Kind, of.Name, err)
	}
	return object, nil
}

func (w *workloads) ask(ctx context.Context, namespace string, of pub.Workload) (scale, bool, error) {
	// The version that an owner reference names may not be served any more.
	mapping, err := w.live.RESTMapper().RESTMapping(groupKind(of))
	if meta.IsNoMatchError(err) {
		return scale{}, false, nil
	}
	if err != nil {
		return scale{}, false, fmt.Errorf("looking for kind %s: %w", of.Kind, err)
	}
	object, answer := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	object.SetNamespace(namespace)
	object.SetName(of.Name)
	answer.SetAPIVersion("autoscaling/v1")
	answer.SetKind("Scale")
	err = w.live.SubResource("scale").Get(ctx, object, answer)
	switch {
	case apierrors.IsNotFound(err): // a kind without a size too
		return scale{}, false, nil
	case lacksReplicas(err):
		return scale{}, false, fmt.Errorf("reading the scale of %s %s: %w: %w", of.Kind, of.Name, errUnsized, err)
	case err != nil:
		return scale{}, false, fmt.Errorf("reading the scale of %s %s: %w", of.Kind, of.Name, err)
	}
	replicas, _, err := unstructured.NestedInt64(answer.Object, "spec", "replicas")
	if err != nil {
		return scale{}, false, fmt.Errorf("reading the scale of %s %s: %w", of.Kind, of.Name, err)
	}
	selector, _, err := unstructured.NestedString(answer.Object, "status", "selector")
	if err != nil {
		return scale{}, false, fmt.Errorf("reading the scale of %s %s: %w", of.Kind, of.Name, err)
	}
	return scale{answer.GetUID(), int(replicas), selector}, true, nil
}

// undefaulted is the size of a workload that does not say how many Pods it wants: what every kind of Kubernetes and of ours means by
// that. An object is stored so if it was there before the webhooks that fill in defaults.
const undefaulted = 1

// errUnsized says that a workload does not say how many Pods it wants, so that it has no scale.
var errUnsized = errors.New("it wants no number of Pods")

// lacksReplicas tells whether the API server has no scale of a custom object for want of its replicas. It has no status for that
// but an internal error, with these words (k8s.io/apiextensions-apiserver, ScaleREST.Get, 1.30 to 1.37).
func lacksReplicas(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "spec replicas field") && strings.Contains(err.Error(), "does not exist")
}

// unsized is the scale of a workload that does not say its size and is not in the cache. It must be read for its UID, and for the
// selector where our kinds have it. There may be no right to that; then it stays with the reason why its scale could not be read.
func (w *workloads) unsized(ctx context.Context, namespace string, of pub.Workload, reason error) (scale, bool, error) {
	mapping, err := w.live.RESTMapper().RESTMapping(groupKind(of))
	if err != nil {
		return scale{}, false, fmt.Errorf("looking for kind %s: %w", of.Kind, err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	err = w.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: of.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return scale{}, false, nil
	case err != nil:
		return scale{}, false, errors.Join(reason, fmt.Errorf("reading %s %s: %w", of.Kind, of.Name, err))
	}
	selector, _, err := unstructured.NestedString(object.Object, "status", "labelSelector")
	if err != nil {
		return scale{}, false, fmt.Errorf("reading %s %s: %w", of.Kind, of.Name, err)
	}
	return scale{object.GetUID(), undefaulted, selector}, true, nil
}

func groupKind(w pub.Workload) schema.GroupKind {
	return schema.GroupKind{Group: w.Group, Kind: w.Kind}
}

var (
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	replicaSets = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
)

// controllerOf is the workload that controls an object, nil if there is none.
func controllerOf(object metav1.Object) *pub.Workload {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil {
		return nil
	}
	w := pub.WorkloadOf(owner.APIVersion, owner.Kind, owner.Name)
	return &w
}

// chain are the workloads of a Pod: its controller, and that one's if it is a ReplicaSet. The last one has the size.
func (w *workloads) chain(ctx context.Context, pod metav1.Object) ([]pub.Workload, error) {
	direct := controllerOf(pod)
	if direct == nil {
		return nil, nil
	}
	if groupKind(*direct) != replicaSets {
		return []pub.Workload{*direct}, nil
	}
	set, err := w.metadata(ctx, pod.GetNamespace(), *direct, w.followed[replicaSets])
	if err != nil || set == nil {
		return []pub.Workload{*direct}, err
	}
	if above := controllerOf(set); above != nil {
		return []pub.Workload{*direct, *above}, nil
	}
	return []pub.Workload{*direct}, nil
}
