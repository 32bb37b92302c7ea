package policyaudit

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/inventory"
)

// prepare reads what sets need beside the objects: labels of namespaces, and their inventories. What cannot be read is said of the
// sets that need it.
func (a *Auditor) prepare(ctx context.Context, due []*subject, trouble error) error {
	var namespaces map[string]labels.Set
	var failure error
	seen := make(map[wantedResource]*inventory.Objects)
	for _, s := range due {
		if s.set == nil {
			s.tally.missing = []string{cut("everything: " + s.unusable.Error())}
		}
		if s.set == nil || !s.wants() {
			continue
		}
		if trouble != nil {
			s.tally.missing = append(s.tally.missing, cut(trouble.Error()))
		}
		if !s.namespaces.Empty() {
			if namespaces == nil && failure == nil {
				namespaces, failure = a.namespaceLabels(ctx)
			}
			if failure != nil {
				s.tally.left(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, failure)
			}
			s.tally.namespaces = namespaces
		}
		a.inventory(ctx, s, seen)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (a *Auditor) namespaceLabels(ctx context.Context) (map[string]labels.Set, error) {
	all := make(map[string]labels.Set)
	err := a.lists.each(ctx, query{path: []string{"/api/v1/namespaces"}, metadata: true}, func(raw jsontext.Value) error {
		var h head
		if err := json.Unmarshal(raw, &h); err != nil {
			return fmt.Errorf("reading a namespace: %w", err)
		}
		all[h.Metadata.Name] = h.Metadata.Labels
		return nil
	})
	return all, err
}

// wantedResource is what one list of an inventory is of: a resource, in a namespace or, with "", everywhere.
type wantedResource struct {
	schema.GroupVersionResource
	namespace string
}

// inventory reads what a set wants to see. Sets share what they both want. Without it, rules that depend on it are not asked.
func (a *Auditor) inventory(ctx context.Context, s *subject, seen map[wantedResource]*inventory.Objects) {
	s.inventory = nil
	wanted := s.set.Settings().Inventory
	if len(wanted) == 0 {
		return
	}
	var parts []*inventory.Objects
	for _, r := range wanted {
		namespaces := r.Namespaces
		if len(namespaces) == 0 {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			objects, err := a.inventoryOf(ctx, r, namespace, seen)
			if err != nil {
				s.tally.left(schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}, err)
				s.tally.unasked = s.set.InventoryRules()
				return
			}
			parts = append(parts, objects)
		}
	}
	s.inventory = inventory.Static(parts...)
}

func (a *Auditor) inventoryOf(ctx context.Context, r userpolicy.InventoryResource, namespace string, seen map[wantedResource]*inventory.Objects) (*inventory.Objects, error) {
	key := wantedResource{schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}, namespace}
	if objects := seen[key]; objects != nil {
		return objects, nil
	}
	t := target{GroupVersionResource: key.GroupVersionResource}
	path := t.path()
	if namespace != "" {
		path = slices.Insert(path, len(path)-1, "namespaces", namespace)
	}
	objects := inventory.NewObjects()
	// The kind is the list's, which pages do not keep: it is asked for once.
	kind, err := a.kindOf(key.GroupVersionResource)
	if err != nil {
		return nil, err
	}
	t.kind = kind
	err = a.lists.each(ctx, query{path: path}, func(raw jsontext.Value) error {
		var h head
		if err := json.Unmarshal(raw, &h, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return fmt.Errorf("reading an object: %w", err)
		}
		return objects.Upsert(t.whole(h, raw))
	})
	if err != nil {
		return nil, err
	}
	seen[key] = objects
	return objects, nil
}

// kindOf is the kind of a resource's objects.
func (a *Auditor) kindOf(resource schema.GroupVersionResource) (string, error) {
	list, err := a.Discovery.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return "", err
	}
	for _, r := range list.APIResources {
		if r.Name == resource.Resource {
			return r.Kind, nil
		}
	}
	return "", fmt.Errorf("the API server has no %s", resource.GroupResource())
}
