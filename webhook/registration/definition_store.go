package registration

import (
	"context"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// definitionStore reads and writes definitions, always live.
type definitionStore struct {
	client apiextensions.CustomResourceDefinitionInterface
}

// read returns a definition, or false if there is none or it is being deleted.
func (s definitionStore) read(ctx context.Context, name string) (definition, bool, error) {
	crd, err := s.client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return definition{}, false, nil
	}
	if err != nil {
		return definition{}, false, fmt.Errorf("reading definition %s: %w", name, err)
	}
	return readDefinition(crd), crd.DeletionTimestamp == nil, nil
}

// act writes what was decided about a definition. It never creates one: with the uid of an object that is gone the API
// server answers 409. A conflict means that the definition is no longer the one that was planned for.
func (s definitionStore) act(ctx context.Context, c converting, d definition, v verb) error {
	var err error
	switch v {
	case apply:
		metadata := map[string]any{"name": d.name, "uid": d.uid}
		if len(c.annotations) > 0 {
			metadata["annotations"] = c.annotations
		}
		err = s.patch(ctx, d, types.ApplyPatchType, ptr.To(true), map[string]any{
			"apiVersion": apiextensionsv1.SchemeGroupVersion.String(), "kind": "CustomResourceDefinition",
			"metadata": metadata,
			"spec":     map[string]any{"conversion": c.conversion()},
		})
	case rewrite:
		err = s.replace(ctx, d, c.withoutOthers(), c.unwanted)
	case release:
		err = s.replace(ctx, d, map[string]any{"strategy": apiextensionsv1.NoneConverter, "webhook": nil}, nil)
	case yield:
		err = s.yield(ctx, d)
	default:
	}
	if err != nil {
		return fmt.Errorf("writing the conversion of definition %s (%s): %w", d.name, v, err)
	}
	return nil
}

// replace merges a conversion whatever others own of it, and takes annotations away.
func (s definitionStore) replace(ctx context.Context, d definition, conversion map[string]any, unwanted []string) error {
	metadata := map[string]any{"uid": d.uid, "resourceVersion": d.version}
	if len(unwanted) > 0 {
		metadata["annotations"] = nulls(unwanted)
	}
	return s.patch(ctx, d, types.MergePatchType, nil, map[string]any{
		"metadata": metadata,
		"spec":     map[string]any{"conversion": conversion},
	})
}

func (s definitionStore) yield(ctx context.Context, d definition) error {
	body, err := yieldPatch(d.fields, d.version)
	if err == nil {
		_, err = s.client.Patch(ctx, d.name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	}
	return err
}

func (s definitionStore) patch(ctx context.Context, d definition, kind types.PatchType, force *bool, object map[string]any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = s.client.Patch(ctx, d.name, kind, body, metav1.PatchOptions{FieldManager: fieldManager, Force: force})
	return err
}

// conversion is the wanted stanza, as an apply has it.
func (c converting) conversion() map[string]any {
	client := map[string]any{}
	if c.client.URL != nil {
		client["url"] = *c.client.URL
	} else {
		client["service"] = c.client.Service
	}
	if c.client.CABundle != nil {
		client["caBundle"] = c.client.CABundle
	}
	return map[string]any{
		"strategy": apiextensionsv1.WebhookConverter,
		"webhook":  map[string]any{"clientConfig": client, "conversionReviewVersions": reviewVersions},
	}
}

// Conversions are definitions of which an apply says nothing but how their objects are converted, for who writes it in our
// place.
func Conversions(config table.Config, how Conversion, bundle []byte, annotations map[string]string) []map[string]any {
	stanza := newConverting(config, how.Service, how.Path, bundle, bundle == nil).conversion()
	all := make([]map[string]any, 0, len(how.Definitions))
	for _, name := range how.Definitions {
		metadata := map[string]any{"name": name}
		if len(annotations) > 0 {
			metadata["annotations"] = annotations
		}
		all = append(all, map[string]any{
			"apiVersion": apiextensionsv1.SchemeGroupVersion.String(), "kind": "CustomResourceDefinition",
			"metadata": metadata, "spec": map[string]any{"conversion": stanza},
		})
	}
	return all
}

// withoutOthers is the stanza as a merge patch, which takes the other way to reach somebody away.
func (c converting) withoutOthers() map[string]any {
	conversion := c.conversion()
	client := conversion["webhook"].(map[string]any)["clientConfig"].(map[string]any)
	for _, way := range []string{"url", "service"} {
		if client[way] == nil {
			client[way] = nil
		}
	}
	return conversion
}
