package conversion

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1beta1 "github.com/fairlead-io/fairlead/api/apps/v1beta1"
	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

// The two versions that every kind here has. v1beta1 is the one that is stored.
const (
	Alpha = "v1alpha1"
	Beta  = "v1beta1"
)

// Resource is a kind with two versions.
type Resource struct {
	schema.GroupKind
	Plural string
	// Differs says that the versions differ by more than their name, so that the API server cannot convert by itself.
	Differs bool
}

// Definition is the name of the resource's CustomResourceDefinition.
func (r Resource) Definition() string { return r.Plural + "." + r.Group }

// Stored is the resource in the version that is stored.
func (r Resource) Stored() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: Beta, Resource: r.Plural}
}

// Resources are all kinds with two versions, in the order of their names.
func Resources() []Resource {
	all := make([]Resource, 0, len(kinds))
	for _, k := range kinds {
		all = append(all, k.Resource)
	}
	return all
}

// kind says how objects of a kind are converted.
type kind struct {
	Resource
	// up makes an object of v1beta1 of one of v1alpha1, in place, and down the reverse. Neither need care for what the
	// other version cannot spell.
	up, down func(*work)
	// canonical respells an object of v1alpha1 as it reads when it comes back from v1beta1, where that says the same.
	// Such differences are not kept.
	canonical func(*work)
	// units are what is kept or given up together.
	units []unit
	// typed is an empty object of v1beta1.
	typed func() any
	// opaque are the parts that the schema leaves alone, which may hold more than the type can, or cost more to decode.
	opaque []string
}

// unit is a part of an object whose fields only make sense together, as pointers to where it is in either version. What
// was kept of it is put back only if the client changed nothing of it.
type unit struct{ alpha, beta []string }

var (
	podTemplate  = []string{"/spec/template"}
	podAndClaims = []string{"/spec/template", "/spec/volumeClaimTemplates"}
)

var kinds = []kind{
	{
		Resource: apps("AdvancedCronJob", "advancedcronjobs"), up: same, down: advancedCronJobDown,
		typed: typed[appsv1beta1.AdvancedCronJob], opaque: []string{"/spec/template/jobTemplate", "/spec/template/broadcastJobTemplate"},
	},
	{Resource: unchanged("BroadcastJob", "broadcastjobs")},
	{
		Resource: apps("CloneSet", "clonesets"), up: cloneSetUp, down: cloneSetDown, canonical: cloneSetCanonical,
		units: cloneSetUnits, typed: typed[appsv1beta1.CloneSet], opaque: podAndClaims,
	},
	{
		Resource: apps("ContainerRecreateRequest", "containerrecreaterequests"), up: recreateRequestUp, down: recreateRequestDown,
		canonical: recreateRequestCanonical, typed: typed[appsv1beta1.ContainerRecreateRequest],
	},
	{
		Resource: apps("DaemonSet", "daemonsets"), up: daemonSetUp, down: daemonSetDown, canonical: daemonSetCanonical,
		typed: typed[appsv1beta1.DaemonSet], opaque: podTemplate,
	},
	{Resource: unchanged("ImageListPullJob", "imagelistpulljobs")},
	{Resource: unchanged("ImagePullJob", "imagepulljobs")},
	{Resource: apps("NodeImage", "nodeimages"), up: same, down: nodeImageDown, typed: typed[appsv1beta1.NodeImage]},
	{
		Resource: apps("PersistentPodState", "persistentpodstates"), up: persistentPodStateUp, down: persistentPodStateDown,
		typed: typed[appsv1beta1.PersistentPodState],
	},
	{
		Resource: differs("policy.kruise.io", "PodUnavailableBudget", "podunavailablebudgets"),
		up:       unavailableBudgetUp, down: unavailableBudgetDown, typed: typed[policyv1beta1.PodUnavailableBudget],
	},
	{
		Resource: apps("ResourceDistribution", "resourcedistributions"), up: resourceDistributionUp, down: resourceDistributionDown,
		typed: typed[appsv1beta1.ResourceDistribution], opaque: []string{"/spec/resource"},
	},
	{
		Resource: apps("SidecarSet", "sidecarsets"), up: sidecarSetUp, down: sidecarSetDown, canonical: sidecarSetCanonical,
		units: sidecarSetUnits, typed: typed[appsv1beta1.SidecarSet],
		opaque: []string{"/spec/containers", "/spec/initContainers", "/spec/volumes"},
	},
	{
		Resource: apps("StatefulSet", "statefulsets"), up: same, down: statefulSetDown,
		typed: typed[appsv1beta1.StatefulSet], opaque: podAndClaims,
	},
	{
		Resource: apps("UnitedDeployment", "uniteddeployments"), up: unitedDeploymentUp, down: unitedDeploymentDown,
		typed: typed[appsv1beta1.UnitedDeployment], opaque: podTemplate,
	},
	{
		Resource: apps("WorkloadSpread", "workloadspreads"), up: workloadSpreadUp, down: workloadSpreadDown,
		canonical: workloadSpreadCanonical, typed: typed[appsv1beta1.WorkloadSpread],
	},
}

func apps(kind, plural string) Resource {
	return differs("apps.kruise.io", kind, plural)
}

func differs(group, kind, plural string) Resource {
	return Resource{GroupKind: schema.GroupKind{Group: group, Kind: kind}, Plural: plural, Differs: true}
}

func unchanged(kind, plural string) Resource {
	r := apps(kind, plural)
	r.Differs = false
	return r
}

func typed[T any]() any { return new(T) }

// same is the translation of what v1beta1 only adds to.
func same(*work) {}

var byKind = func() map[schema.GroupKind]*kind {
	index := make(map[schema.GroupKind]*kind, len(kinds))
	for i := range kinds {
		index[kinds[i].GroupKind] = &kinds[i]
	}
	return index
}()
