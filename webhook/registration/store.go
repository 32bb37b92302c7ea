package registration

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// fieldManager is who we are in managedFields.
const fieldManager = "fairlead-registration"

// hookAnnotation marks the anchor that Helm makes for a moment while it uninstalls: the chart deletes the real one
// through a hook of the same name.
const hookAnnotation = "helm.sh/hook"

// store reads and writes the four objects, always live: a cache may show what has since been deleted.
type store struct {
	client kubernetes.Interface
	// namespace is the release namespace.
	namespace string
}

// anchor returns a reference to the anchor, or nil if there is none or it is going. With the release namespace the
// service goes, and nothing else tells of that: the anchor is no object of a namespace.
func (s store) anchor(ctx context.Context) (*metav1.OwnerReference, error) {
	anchor, err := s.liveAnchor(ctx)
	if err != nil || anchor == nil {
		return nil, err
	}
	namespace, err := s.client.CoreV1().Namespaces().Get(ctx, s.namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the release namespace: %w", err)
	case namespace.DeletionTimestamp != nil:
		return nil, nil
	default:
		return anchor, nil
	}
}

func (s store) liveAnchor(ctx context.Context) (*metav1.OwnerReference, error) {
	anchor, err := s.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, table.AnchorName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the anchor: %w", err)
	}
	if _, hook := anchor.Annotations[hookAnnotation]; hook || anchor.DeletionTimestamp != nil {
		return nil, nil
	}
	return &metav1.OwnerReference{
		APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration",
		Name: anchor.Name, UID: anchor.UID,
	}, nil
}

// read returns a configuration, or nil.
func (s store) read(ctx context.Context, of which) (*table.Configuration, error) {
	var read *table.Configuration
	var err error
	if api := s.client.AdmissionregistrationV1(); of == mutating {
		var object *admissionv1.MutatingWebhookConfiguration
		if object, err = api.MutatingWebhookConfigurations().Get(ctx, string(of), metav1.GetOptions{}); err == nil {
			read = table.FromMutating(object)
		}
	} else {
		var object *admissionv1.ValidatingWebhookConfiguration
		if object, err = api.ValidatingWebhookConfigurations().Get(ctx, string(of), metav1.GetOptions{}); err == nil {
			read = table.FromValidating(object)
		}
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", string(of), err)
	}
	return read, nil
}

// act carries an action out. A conflict means that the object is no longer the one that was planned for.
func (s store) act(ctx context.Context, of which, a action) error {
	switch a.verb {
	case apply:
		return s.apply(ctx, a)
	case rewrite:
		return s.rewrite(ctx, a)
	case remove:
		return s.remove(ctx, of, a.uid)
	case yield:
		return s.yield(ctx, a)
	default:
		return nil
	}
}

func (s store) apply(ctx context.Context, a action) error {
	configuration := *a.configuration
	// With the uid of an object that is gone, the API server answers 409 and creates nothing.
	configuration.UID = a.uid
	body, err := json.Marshal(configuration.Object())
	if err != nil {
		return fmt.Errorf("encoding %s: %w", configuration.Name, err)
	}
	options := metav1.PatchOptions{FieldManager: fieldManager, Force: ptr.To(true)}
	if err := s.patch(ctx, &configuration, types.ApplyPatchType, body, options); err != nil {
		return fmt.Errorf("applying %s: %w", configuration.Name, err)
	}
	return nil
}

func (s store) rewrite(ctx context.Context, a action) error {
	metadata := map[string]any{"uid": a.uid, "resourceVersion": a.version, "ownerReferences": a.configuration.OwnerReferences}
	if len(a.unwanted) > 0 {
		metadata["annotations"] = nulls(a.unwanted)
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata, "webhooks": webhooksOf(a.configuration)})
	if err != nil {
		return fmt.Errorf("encoding %s: %w", a.configuration.Name, err)
	}
	if err := s.patch(ctx, a.configuration, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("rewriting %s: %w", a.configuration.Name, err)
	}
	return nil
}

// nulls takes keys away, in a merge patch.
func nulls(keys []string) map[string]any {
	gone := map[string]any{}
	for _, key := range keys {
		gone[key] = nil
	}
	return gone
}

func (s store) yield(ctx context.Context, a action) error {
	body, err := yieldPatch(a.fields, a.version)
	if err == nil {
		err = s.patch(ctx, a.configuration, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return fmt.Errorf("giving up the CA bundles of %s: %w", a.configuration.Name, err)
	}
	return nil
}

// webhooksOf returns the list as the kind encodes it, never null: that would leave the live one alone.
func webhooksOf(configuration *table.Configuration) any {
	switch object := configuration.Object().(type) {
	case *admissionv1.MutatingWebhookConfiguration:
		return append([]admissionv1.MutatingWebhook{}, object.Webhooks...)
	case *admissionv1.ValidatingWebhookConfiguration:
		return append([]admissionv1.ValidatingWebhook{}, object.Webhooks...)
	default:
		panic(fmt.Sprintf("a configuration is a %T", object))
	}
}

func (s store) patch(ctx context.Context, c *table.Configuration, kind types.PatchType, body []byte, options metav1.PatchOptions) error {
	var err error
	if api := s.client.AdmissionregistrationV1(); c.Mutating {
		_, err = api.MutatingWebhookConfigurations().Patch(ctx, c.Name, kind, body, options)
	} else {
		_, err = api.ValidatingWebhookConfigurations().Patch(ctx, c.Name, kind, body, options)
	}
	return err
}

// remove deletes the object with this uid; that it is gone, or another by now, is no error.
func (s store) remove(ctx context.Context, of which, uid types.UID) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	var err error
	if api := s.client.AdmissionregistrationV1(); of == mutating {
		err = api.MutatingWebhookConfigurations().Delete(ctx, string(of), options)
	} else {
		err = api.ValidatingWebhookConfigurations().Delete(ctx, string(of), options)
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting %s: %w", string(of), err)
}
