package explain

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/terminal/coverage"
	"github.com/fairlead-io/fairlead/internal/terminal/review"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Deletion explains what would hold the deletion of an object: webhooks, which refuse it, and finalizers, which delay it.
func (e *Explainer) Deletion(ctx context.Context, what, namespace, name string) (*DeletionReport, error) {
	mapping, err := e.mapping(what)
	if err != nil {
		return nil, err
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	if !namespaced {
		namespace = ""
	}
	raw, err := e.Cluster.Get(ctx, mapping.Resource, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, terminal.Usage(err)
	}
	if err != nil {
		return nil, terminal.Unreachable(err)
	}
	result, err := e.Reviewer.Review(ctx, review.Request{Source: what + "/" + name, Operation: admission.Delete, Old: raw, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", what, name, err)
	}
	report := &DeletionReport{
		Kind: result.Kind, Namespace: result.Namespace, Name: name, Deleting: object.DeletionTimestamp != nil, Allowed: result.Allowed,
		Webhooks: result.Webhooks, Finalizers: object.Finalizers, Notes: result.Notes,
	}
	return report, e.others(ctx, mapping.Resource, namespaced, &object, report)
}

// mapping finds a resource by any of its names, as kubectl does.
func (e *Explainer) mapping(what string) (*meta.RESTMapping, error) {
	mapper, err := e.Cluster.Mapper()
	if err != nil {
		return nil, err
	}
	mapper = restmapper.NewShortcutExpander(mapper, e.Cluster.Client.Discovery(), nil)
	full, group := schema.ParseResourceArg(what)
	var kind schema.GroupVersionKind
	if full != nil {
		kind, err = mapper.KindFor(*full)
	}
	if full == nil || err != nil {
		kind, err = mapper.KindFor(group.WithVersion(""))
	}
	if err != nil {
		return nil, terminal.Usagef("%w: there is no kind %q in the cluster", err, what)
	}
	return mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// others names webhooks that are not of the table and would be asked too.
func (e *Explainer) others(ctx context.Context, resource schema.GroupVersionResource, namespaced bool, object *metav1.PartialObjectMetadata, report *DeletionReport) error {
	list, err := e.Cluster.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		report.Notes = append(report.Notes, "webhooks of others may not be read, and may refuse it too")
		return nil
	}
	if err != nil {
		return terminal.Unreachable(err)
	}
	request := coverage.Request{Operation: admissionv1.Delete, Resource: resource, Namespaced: namespaced, Objects: []labels.Set{object.Labels}}
	switch {
	case namespaced:
		found, _, err := e.Reviewer.Judge.Namespaces.Labels(ctx, report.Namespace)
		if err != nil {
			return terminal.Unreachable(err)
		}
		request.Namespace = found
	case report.Kind == "Namespace":
		request.Namespace = object.Labels
	}
	for i := range list.Items {
		configuration := table.FromValidating(&list.Items[i])
		if configuration.Name == table.ValidatingName {
			continue
		}
		for at := range configuration.Webhooks {
			if coverage.Of(&configuration.Webhooks[at], request).Called {
				report.Others = append(report.Others, configuration.Name+"/"+configuration.Webhooks[at].Name)
			}
		}
	}
	return nil
}
