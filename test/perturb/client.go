package perturb

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/controllers/podset/claim"
	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// api is a process's client: cached reads, or reads at the server.
type api struct {
	process *Process
	cached  bool
}

var _ client.Client = &api{}

func (a *api) server() *apiserver.Server { return a.process.run.server }

func (a *api) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	k := apiserver.Key{Kind: a.server().KindOf(obj), Namespace: key.Namespace, Name: key.Name}
	return a.process.call(&Call{Verb: "get", Key: k, cached: a.cached}, func() error {
		found, err := a.find(k)
		if err != nil {
			return err
		}
		fill(obj, found)
		return nil
	})
}

func (a *api) find(k apiserver.Key) (client.Object, error) {
	if !a.cached {
		return a.server().Get(k)
	}
	i := a.process.informer(k.Kind)
	if err := i.await(&k); err != nil {
		return nil, err
	}
	if found, there := i.store[k]; there {
		return found, nil
	}
	return nil, notFound(k)
}

// fill makes obj a copy of another of its type.
func fill(obj, from client.Object) {
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}

func (a *api) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	k := apiserver.Key{Kind: a.server().KindOf(list), Namespace: o.Namespace}
	return a.process.call(&Call{Verb: "list", Key: k, cached: a.cached}, func() error {
		all, err := a.all(k.Kind, o)
		if err != nil {
			return err
		}
		if metadata, is := list.(*metav1.PartialObjectMetadataList); is {
			fillMetadata(metadata, all, o)
			return nil
		}
		items := reflect.ValueOf(list).Elem().FieldByName("Items")
		items.Set(reflect.MakeSlice(items.Type(), 0, len(all)))
		for _, obj := range all {
			if !matches(obj, o) {
				continue
			}
			if o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
				obj = obj.DeepCopyObject().(client.Object)
			}
			items.Set(reflect.Append(items, reflect.ValueOf(obj).Elem()))
		}
		return nil
	})
}

// fillMetadata puts the metadata of objects into a list.
func fillMetadata(list *metav1.PartialObjectMetadataList, all []client.Object, o *client.ListOptions) {
	list.Items = nil
	for _, obj := range all {
		if !matches(obj, o) {
			continue
		}
		item := metav1.PartialObjectMetadata{}
		metadata := reflect.ValueOf(obj.DeepCopyObject()).Elem().FieldByName("ObjectMeta").Interface().(metav1.ObjectMeta)
		metadata.DeepCopyInto(&item.ObjectMeta)
		list.Items = append(list.Items, item)
	}
}

func (a *api) all(kind schema.GroupKind, o *client.ListOptions) ([]client.Object, error) {
	all := a.server().All(kind)
	if a.cached {
		i := a.process.informer(kind)
		if !o.DisableReadYourWritesConsistency {
			if err := i.await(nil); err != nil {
				return nil, err
			}
		}
		all = apiserver.Sorted(i.store, kind)
	}
	a.process.run.shuffle(all)
	return all, nil
}

func matches(obj client.Object, o *client.ListOptions) bool {
	if o.Namespace != "" && obj.GetNamespace() != o.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
		return false
	}
	if o.FieldSelector == nil {
		return true
	}
	value, _ := o.FieldSelector.RequiresExactMatch(claim.OwnerField)
	owner := metav1.GetControllerOfNoCopy(obj)
	return owner != nil && string(owner.UID) == value
}

func (a *api) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	c := &Call{Verb: "create", Key: a.server().KeyOf(obj), object: obj}
	return a.write(c, obj, func() (client.Object, error) { return obj, a.server().Create(obj) })
}

func (a *api) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return a.update(obj, "")
}

func (a *api) update(obj client.Object, subresource string) error {
	c := &Call{Verb: "update", Subresource: subresource, Key: a.server().KeyOf(obj), object: obj}
	return a.write(c, obj, func() (client.Object, error) { return a.server().Update(obj, subresource) })
}

func (a *api) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return a.patch(obj, patch, "")
}

func (a *api) patch(obj client.Object, patch client.Patch, subresource string) error {
	data, err := patch.Data(obj)
	if err != nil {
		return fmt.Errorf("making a patch: %w", err)
	}
	c := &Call{Verb: "patch", Subresource: subresource, Key: a.server().KeyOf(obj), Text: string(data), object: obj}
	return a.write(c, obj, func() (client.Object, error) {
		return a.server().Patch(c.Key, subresource, patch.Type(), data)
	})
}

// write makes obj what the server answers, and remembers the version for later reads.
func (a *api) write(c *Call, obj client.Object, do func() (client.Object, error)) error {
	return a.process.call(c, func() error {
		stored, err := do()
		if err != nil {
			return err
		}
		c.answered = func() {
			if stored != obj {
				fill(obj, stored)
			}
			a.remember(a.server().KeyOf(obj), obj.GetUID(), obj.GetResourceVersion())
		}
		return nil
	})
}

func (a *api) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o := (&client.DeleteOptions{}).ApplyOptions(opts)
	c := &Call{Verb: "delete", Key: a.server().KeyOf(obj), object: obj, Options: o}
	return a.process.call(c, func() error {
		if err := a.server().Delete(c.Key, o); err != nil {
			return err
		}
		version := ""
		if left, err := a.server().Get(c.Key); err == nil {
			version = left.GetResourceVersion()
		}
		c.answered = func() { a.remember(c.Key, obj.GetUID(), version) }
		return nil
	})
}

// remember is for writes through the cached client only: what is written past it is not awaited.
func (a *api) remember(key apiserver.Key, uid types.UID, version string) {
	if !a.cached {
		return
	}
	n, _ := strconv.ParseInt(version, 10, 64) // "" is 0: removed
	a.process.informer(key.Kind).wrote(key, uid, n)
}

// errQuota is why a creation is forbidden.
var errQuota = errors.New("exceeded quota: pods")

var errNotServed = errors.New("this API does not serve that")

func (a *api) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return fmt.Errorf("applying server-side: %w", errNotServed)
}

func (a *api) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return fmt.Errorf("deleting a collection: %w", errNotServed)
}

func (a *api) Scheme() *runtime.Scheme     { return a.server().Scheme() }
func (a *api) RESTMapper() meta.RESTMapper { return meta.NewDefaultRESTMapper(nil) }

func (a *api) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, a.Scheme())
}

func (a *api) IsObjectNamespaced(runtime.Object) (bool, error) { return true, nil }

func (a *api) Status() client.SubResourceWriter { return a.SubResource("status") }

func (a *api) SubResource(name string) client.SubResourceClient {
	return &subresource{api: a, name: name}
}

type subresource struct {
	api  *api
	name string
}

func (s *subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return fmt.Errorf("reading subresource %s: %w", s.name, errNotServed)
}

func (s *subresource) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return fmt.Errorf("creating subresource %s: %w", s.name, errNotServed)
}

func (s *subresource) Update(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.api.update(obj, s.name)
}

func (s *subresource) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.api.patch(obj, patch, s.name)
}

func (s *subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return fmt.Errorf("applying subresource %s: %w", s.name, errNotServed)
}
