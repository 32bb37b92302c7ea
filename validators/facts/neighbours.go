package facts

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/neighbours"
	"github.com/fairlead-io/fairlead/validators/overlap"
)

// Objects reads objects of any kind past every cache. Whoever writes what is judged by them does so seldom, so that no cache
// has to be kept, and what was created a moment ago counts. Lists are for kinds of which a cluster has few.
type Objects interface {
	// Object is one by its name; namespace is "" for a kind without.
	Object(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (raw jsontext.Value, found bool, err error)
	// Objects are all of a namespace.
	Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]jsontext.Value, error)
}

var (
	kruise = schema.GroupVersion{Group: "apps.kruise.io", Version: "v1beta1"}
	policy = schema.GroupVersion{Group: "policy.kruise.io", Version: "v1beta1"}
	apps   = schema.GroupVersion{Group: "apps", Version: "v1"}
	batch  = schema.GroupVersion{Group: "batch", Version: "v1"}
	core   = schema.GroupVersion{Version: "v1"}
)

// lookingAround are the builtins that look at other objects. Without a cluster there are none.
func (s Sources) lookingAround() []validators.Builtin {
	return []validators.Builtin{
		{Name: "fairlead.same_target", Arity: 4, Asks: true, Call: s.sameTarget},
		{Name: "fairlead.overlapping_budgets", Arity: 3, Asks: true, Call: s.overlappingBudgets},
		{Name: "fairlead.workload", Arity: 2, Asks: true, Call: s.workload},
		{Name: "fairlead.not_own_pods", Arity: 3, Asks: true, Call: s.notOwnPods},
		{Name: "fairlead.storage_class", Arity: 1, Asks: true, Call: s.storageClass},
	}
}

// targetingKinds are those that may be asked about.
var targetingKinds = map[string]schema.GroupVersion{
	"podunavailablebudgets": policy, "workloadspreads": kruise, "persistentpodstates": kruise,
}

// Compared are the resources whose objects are compared with their neighbours: those that Sources.Neighbours must know.
func Compared() []schema.GroupVersionResource {
	all := make([]schema.GroupVersionResource, 0, len(targetingKinds))
	for _, resource := range slices.Sorted(maps.Keys(targetingKinds)) {
		all = append(all, targetingKinds[resource].WithResource(resource))
	}
	return all
}

// sameTarget takes resource, namespace, name and target, and answers who else has that target.
func (s Sources) sameTarget(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	wanted, err := decode[neighbours.Target](args[3])
	if err != nil {
		return nil, err
	}
	resource := text(args[0])
	if _, known := targetingKinds[resource]; !known {
		return nil, fmt.Errorf("looking for other %s: nobody may ask for them", resource)
	}
	return s.competing(ctx, object{resource, text(args[1]), text(args[2])},
		func(o object) neighbours.Candidates {
			return s.Neighbours.SameTarget(o.resource, o.namespace, o.name, wanted)
		},
		func(other neighbours.Object) bool { return wanted.Same(other.Spec.Target) })
}

// overlappingBudgets takes namespace, name and selector, and answers which other budgets may select the same Pods.
func (s Sources) overlappingBudgets(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	selector, err := decode[metav1.LabelSelector](args[2])
	if err != nil {
		return nil, err
	}
	return s.competing(ctx, object{"podunavailablebudgets", text(args[0]), text(args[1])},
		func(o object) neighbours.Candidates {
			return s.Neighbours.SameSelection(o.resource, o.namespace, o.name, selector)
		},
		func(other neighbours.Object) bool {
			return overlap.Alike(overlap.Read(&selector), overlap.Read(other.Spec.Selector))
		})
}

// object is one of a resource that is compared.
type object struct{ resource, namespace, name string }

// maxLooks bounds how many candidates are looked at: as a rule there is none or one, and to say of ten that they are in the way is
// enough.
const maxLooks = 10

// competing are the names of those that compete with an object. Candidates are looked at past every cache: one that was deleted or
// changed a moment ago is not in the way. Those that the watch does not show yet matter only if no other is in the way.
func (s Sources) competing(ctx context.Context, o object, find func(object) neighbours.Candidates, compete func(neighbours.Object) bool) (*ast.Term, error) {
	if s.Objects == nil {
		return term([]string{})
	}
	if s.Neighbours == nil {
		return s.listed(ctx, o, compete)
	}
	candidates := find(o)
	found, err := s.look(ctx, o, candidates.Known, compete)
	if err == nil && len(found) == 0 {
		found, err = s.look(ctx, o, candidates.Recent, compete)
	}
	if err != nil || len(found) > 0 {
		s.Neighbours.Retract(o.resource, o.namespace, o.name)
	}
	if err != nil {
		return nil, err
	}
	return term(found)
}

func (s Sources) look(ctx context.Context, o object, candidates []string, compete func(neighbours.Object) bool) ([]string, error) {
	found := []string{}
	for _, name := range candidates[:min(len(candidates), maxLooks)] {
		raw, there, err := s.Objects.Object(ctx, targetingKinds[o.resource].WithResource(o.resource), o.namespace, name)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		if other, err := neighbours.Read(raw); inTheWay(other, err, compete) {
			found = append(found, name)
		}
	}
	return found, nil
}

// listed are the names of all that compete with an object.
func (s Sources) listed(ctx context.Context, o object, compete func(neighbours.Object) bool) (*ast.Term, error) {
	all, err := s.Objects.Objects(ctx, targetingKinds[o.resource].WithResource(o.resource), o.namespace)
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, raw := range all {
		if other, err := neighbours.Read(raw); other.Metadata.Name != o.name && inTheWay(other, err, compete) {
			found = append(found, other.Metadata.Name)
		}
	}
	slices.Sort(found)
	return term(found)
}

// inTheWay: who cannot be read protects or places nothing; who goes makes room.
func inTheWay(other neighbours.Object, unread error, compete func(neighbours.Object) bool) bool {
	return unread == nil && other.Metadata.DeletionTimestamp == nil && compete(other)
}

// workloads are the kinds whose templates can be looked up.
var workloads = map[schema.GroupKind]schema.GroupVersionResource{
	{Group: kruise.Group, Kind: "CloneSet"}:    kruise.WithResource("clonesets"),
	{Group: kruise.Group, Kind: "StatefulSet"}: kruise.WithResource("statefulsets"),
	{Group: apps.Group, Kind: "StatefulSet"}:   apps.WithResource("statefulsets"),
	{Group: apps.Group, Kind: "Deployment"}:    apps.WithResource("deployments"),
	{Group: apps.Group, Kind: "ReplicaSet"}:    apps.WithResource("replicasets"),
	{Group: batch.Group, Kind: "Job"}:          batch.WithResource("jobs"),
}

// workload takes a namespace and a target, and answers {"found", "template", "claims"}.
func (s Sources) workload(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	wanted, err := decode[neighbours.Target](args[1])
	if err != nil {
		return nil, err
	}
	resource, known := workloads[schema.GroupKind{Group: wanted.Group(), Kind: wanted.Kind}]
	absent := map[string]any{"found": false}
	if s.Objects == nil || !known || wanted.Name == "" {
		return term(absent)
	}
	raw, found, err := s.Objects.Object(ctx, resource, text(args[0]), wanted.Name)
	if err != nil {
		return nil, err
	}
	if !found {
		return term(absent)
	}
	object, err := decodeRaw[struct {
		Spec struct {
			Template any   `json:"template"`
			Claims   []any `json:"volumeClaimTemplates"`
		} `json:"spec"`
	}](raw)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", wanted.Kind, wanted.Name, err)
	}
	return term(map[string]any{"found": true, "template": object.Spec.Template, "claims": slices.Concat([]any{}, object.Spec.Claims)})
}

// notOwnPods takes a namespace, names and a UID, and answers, by name, why a Pod is none that who has the UID controls. When it has
// found many of those it looks no further.
func (s Sources) notOwnPods(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	wanted, err := decode[[]string](args[1])
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	if s.Objects == nil {
		return term(reasons)
	}
	for some := range slices.Chunk(wanted, looksAtOnce) {
		if len(reasons) >= validators.MostMistakes {
			break
		}
		found := make([]string, len(some))
		looks, within := errgroup.WithContext(ctx)
		for i, name := range some {
			looks.Go(func() (err error) {
				found[i], err = s.notOwnPod(within, text(args[0]), name, text(args[2]))
				return err
			})
		}
		if err := looks.Wait(); err != nil {
			return nil, err
		}
		for i, reason := range found {
			if reason != "" {
				reasons[some[i]] = reason
			}
		}
	}
	return term(reasons)
}

// looksAtOnce is how many Pods are read at a time: one by one, a thousand take seconds.
const looksAtOnce = 16

// notOwnPod says why a Pod is none that who has the UID controls; "" if it is.
func (s Sources) notOwnPod(ctx context.Context, namespace, name, uid string) (string, error) {
	raw, found, err := s.Objects.Object(ctx, core.WithResource("pods"), namespace, name)
	if err != nil {
		return "", err
	}
	if !found {
		return "there is no such Pod", nil
	}
	pod, err := decodeRaw[metav1.PartialObjectMetadata](raw)
	if err != nil {
		return "", fmt.Errorf("reading Pod %s: %w", name, err)
	}
	switch owner := metav1.GetControllerOfNoCopy(&pod); {
	case owner == nil || string(owner.UID) != uid:
		return "the Pod belongs to somebody else", nil
	case pod.DeletionTimestamp != nil:
		return "the Pod is being deleted already", nil
	default:
		return "", nil
	}
}

const defaultClass = "storageclass.kubernetes.io/is-default-class"

type storageClass struct {
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Expandable *bool             `json:"allowVolumeExpansion"`
}

// storageClass takes a name, "" for the newest default one, and answers {"found", "name", "fixed"}; fixed says that its volumes
// cannot be expanded.
func (s Sources) storageClass(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	classes := schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	name := text(args[0])
	if s.Objects == nil {
		return term(map[string]any{"found": name != "", "name": name, "fixed": false})
	}
	var all []jsontext.Value
	if name != "" {
		raw, found, err := s.Objects.Object(ctx, classes, "", name)
		if err != nil {
			return nil, err
		}
		if found {
			all = append(all, raw)
		}
	} else {
		var err error
		if all, err = s.Objects.Objects(ctx, classes, ""); err != nil {
			return nil, err
		}
	}
	var newest *storageClass
	for _, raw := range all {
		class, err := decodeRaw[storageClass](raw)
		if err != nil {
			return nil, fmt.Errorf("reading a StorageClass: %w", err)
		}
		if name == "" && class.Metadata.Annotations[defaultClass] != "true" {
			continue
		}
		if newest == nil || newest.Metadata.CreationTimestamp.Before(&class.Metadata.CreationTimestamp) {
			newest = &class
		}
	}
	if newest == nil {
		return term(map[string]any{"found": false, "name": name, "fixed": false})
	}
	fixed := newest.Expandable != nil && !*newest.Expandable
	return term(map[string]any{"found": true, "name": newest.Metadata.Name, "fixed": fixed})
}
