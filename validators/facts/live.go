package facts

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// Live reads from the API server. SidecarSets are written by people, seldom, so that a request each costs nothing that
// counts, and no cache of ConfigMaps or ControllerRevisions has to be kept for it.
type Live struct {
	client    kubernetes.Interface
	namespace string
}

var (
	_ Reader  = (*Live)(nil)
	_ Objects = (*Live)(nil)
)

// NewLive makes a reader; namespace is the release namespace.
func NewLive(client kubernetes.Interface, namespace string) *Live { return &Live{client, namespace} }

// namable says whether an object may have a name. Others must not become a part of a URL: ".." leads somewhere else.
func namable(name string) bool { return name != "" && len(content.IsPathSegmentName(name)) == 0 }

// SidecarSet implements Reader.
func (l *Live) SidecarSet(ctx context.Context, name string) (canary, found bool, err error) {
	if !namable(name) {
		return false, false, nil
	}
	raw, err := l.get(ctx, "/apis", v1beta1.GroupVersion.Group, v1beta1.GroupVersion.Version, "sidecarsets", name)
	if apierrors.IsNotFound(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("reading SidecarSet %s: %w", name, err)
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &object); err != nil {
		return false, false, fmt.Errorf("reading SidecarSet %s: %w", name, err)
	}
	annotations := object.Annotations
	canary = annotations[v1beta1.SidecarSetCanaryAnnotation] == "true" && annotations[v1beta1.SidecarSetBaseAnnotation] != ""
	return canary, true, nil
}

// Revision implements Reader. A revision of another SidecarSet does not count, whatever its name.
func (l *Live) Revision(ctx context.Context, sidecarSet, name, customVersion string) (bool, error) {
	revisions := l.client.AppsV1().ControllerRevisions(l.namespace)
	if name != "" && !namable(name) {
		return false, nil
	}
	if name != "" {
		revision, err := revisions.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading ControllerRevision %s/%s: %w", l.namespace, name, err)
		}
		return revision.Labels[v1beta1.SidecarSetNameLabel] == sidecarSet, nil
	}
	of := labels.Set{v1beta1.SidecarSetNameLabel: sidecarSet, v1beta1.SidecarSetCustomVersionLabel: customVersion}
	if len(validation.IsValidLabelValue(customVersion)) > 0 { // it names no revision
		return false, nil
	}
	selector := labels.SelectorFromSet(of)
	list, err := revisions.List(ctx, metav1.ListOptions{LabelSelector: selector.String(), Limit: 1})
	if err != nil {
		return false, fmt.Errorf("listing ControllerRevisions of %s: %w", selector, err)
	}
	return len(list.Items) > 0, nil
}

// Configuration implements Reader.
func (l *Live) Configuration(ctx context.Context, key string) (string, error) {
	object, err := l.client.CoreV1().ConfigMaps(l.namespace).Get(ctx, v1beta1.ConfigurationName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading ConfigMap %s/%s: %w", l.namespace, v1beta1.ConfigurationName, err)
	}
	return object.Data[key], nil
}

// Object implements Objects.
func (l *Live) Object(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (jsontext.Value, bool, error) {
	if !namable(name) {
		return nil, false, nil
	}
	raw, err := l.get(ctx, append(segments(resource, namespace), name)...)
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading %s %s: %w", resource.Resource, name, err)
	}
	return raw, true, nil
}

// Objects implements Objects. A kind that is not installed has none.
func (l *Live) Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]jsontext.Value, error) {
	raw, err := l.get(ctx, segments(resource, namespace)...)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", resource.Resource, err)
	}
	var list struct {
		Items []jsontext.Value `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("listing %s: %w", resource.Resource, err)
	}
	return list.Items, nil
}

func (l *Live) get(ctx context.Context, path ...string) ([]byte, error) {
	return l.client.Discovery().RESTClient().Get().AbsPath(path...).SetHeader("Accept", "application/json").Do(ctx).Raw()
}

// segments are the path of a resource, of all namespaces if namespace is "".
func segments(resource schema.GroupVersionResource, namespace string) []string {
	path := []string{"/api", resource.Version}
	if resource.Group != "" {
		path = []string{"/apis", resource.Group, resource.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return append(path, resource.Resource)
}
