package review

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/terminal"
)

// Resources knows how the API server calls kinds.
type Resources interface {
	// Of is a kind's resource and whether its objects are in namespaces.
	Of(kind schema.GroupVersionKind) (resource schema.GroupVersionResource, namespaced bool, err error)
}

// Offline guesses: names by the rule that all kinds follow, and scopes from a list of the kinds that matter.
type Offline struct{}

// clusterScoped are the kinds outside namespaces that a webhook of ours, or a person who reviews a whole folder, knows.
var clusterScoped = []schema.GroupKind{
	{Kind: "Namespace"}, {Kind: "Node"}, {Kind: "PersistentVolume"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	{Group: "apps.kruise.io", Kind: "NodeImage"},
	{Group: "apps.kruise.io", Kind: "NodePodProbe"},
	{Group: "apps.kruise.io", Kind: "ResourceDistribution"},
	{Group: "apps.kruise.io", Kind: "SidecarSet"},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, {Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}, {Group: "storage.k8s.io", Kind: "StorageClass"},
}

// Of implements Resources.
func (Offline) Of(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool, error) {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural, !slices.Contains(clusterScoped, kind.GroupKind()), nil
}

// Live asks the cluster.
type Live struct{ Cluster *terminal.Cluster }

// Of implements Resources.
func (l Live) Of(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool, error) {
	mapping, err := l.Cluster.Mapping(kind)
	switch {
	case meta.IsNoMatchError(err):
		return schema.GroupVersionResource{}, false, terminal.Usagef("%w: the cluster has no such kind, or not in this version", err)
	case err != nil:
		return schema.GroupVersionResource{}, false, err
	}
	return mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}
