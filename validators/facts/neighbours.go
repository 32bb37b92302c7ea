package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/validators"
)

// Objects reads objects of any kind past every cache. Whoever writes what is judged by them does so seldom, so that no cache
// has to be kept, and what was created a moment ago counts.
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

// targeting is what objects with a target have in common.
type targeting struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Target   *target               `json:"targetRef"`
		Selector *metav1.LabelSelector `json:"selector"`
	} `json:"spec"`
}

type target struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

func (t target) group() string {
	group, _, found := strings.Cut(t.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// same says whether both mean one workload, in whatever version.
func (t target) same(other *target) bool {
	return other != nil && t.group() == other.group() && t.Kind == other.Kind && t.Name == other.Name
}

// targetingKinds are those that may be asked about.
var targetingKinds = map[string]schema.GroupVersion{
	"podunavailablebudgets": policy, "workloadspreads": kruise, "persistentpodstates": kruise,
}

// around are the others of a kind in a namespace.
func (s Sources) around(ctx context.Context, resource, namespace, name string) (others []targeting, err error) {
	group, known := targetingKinds[resource]
	if !known {
		return nil, fmt.Errorf("listing %s: nobody may ask for them", resource)
	}
	if s.Objects == nil {
		return nil, nil
	}
	raw, err := s.Objects.Objects(ctx, group.WithResource(resource), namespace)
	if err != nil {
		return nil, err
	}
	for _, one := range raw {
		other, err := decodeRaw[targeting](one)
		if err != nil || other.Metadata.Name == name || other.Metadata.DeletionTimestamp != nil {
			continue // who cannot be read protects or places nothing; who goes makes room
		}
		others = append(others, other)
	}
	return others, nil
}

// sameTarget takes resource, namespace, name and target, and answers who else has that target.
func (s Sources) sameTarget(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	wanted, err := decode[target](args[3])
	if err != nil {
		return nil, err
	}
	others, err := s.around(ctx, text(args[0]), text(args[1]), text(args[2]))
	if err != nil {
		return nil, err
	}
	return names(others, func(other targeting) bool { return wanted.same(other.Spec.Target) })
}

// overlappingBudgets takes namespace, name and selector, and answers which other budgets may select the same Pods.
func (s Sources) overlappingBudgets(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	selector, err := decode[metav1.LabelSelector](args[2])
	if err != nil {
		return nil, err
	}
	others, err := s.around(ctx, "podunavailablebudgets", text(args[0]), text(args[1]))
	if err != nil {
		return nil, err
	}
	return names(others, func(other targeting) bool {
		return other.Spec.Selector != nil && looselyOverlap(selector, *other.Spec.Selector)
	})
}

func names(of []targeting, wanted func(targeting) bool) (*ast.Term, error) {
	found := []string{}
	for _, one := range of {
		if wanted(one) {
			found = append(found, one.Metadata.Name)
		}
	}
	slices.Sort(found)
	return term(found)
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
	wanted, err := decode[target](args[1])
	if err != nil {
		return nil, err
	}
	resource, known := workloads[schema.GroupKind{Group: wanted.group(), Kind: wanted.Kind}]
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

// notOwnPods takes a namespace, names and a UID, and answers, by name, why a Pod is none that who has the UID controls.
func (s Sources) notOwnPods(ctx context.Context, args []*ast.Term) (*ast.Term, error) {
	wanted, err := decode[[]string](args[1])
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	if s.Objects == nil {
		return term(reasons)
	}
	for _, name := range wanted {
		raw, found, err := s.Objects.Object(ctx, core.WithResource("pods"), text(args[0]), name)
		if err != nil {
			return nil, err
		}
		if !found {
			reasons[name] = "there is no such Pod"
			continue
		}
		pod, err := decodeRaw[metav1.PartialObjectMetadata](raw)
		if err != nil {
			return nil, fmt.Errorf("reading Pod %s: %w", name, err)
		}
		switch owner := metav1.GetControllerOfNoCopy(&pod); {
		case owner == nil || string(owner.UID) != text(args[2]):
			reasons[name] = "the Pod belongs to somebody else"
		case pod.DeletionTimestamp != nil:
			reasons[name] = "the Pod is being deleted already"
		}
	}
	return term(reasons)
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
