package replica

import (
	"cmp"
	"errors"
	mathrand "math/rand/v2"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/mutators/defaults"
	"github.com/fairlead-io/fairlead/mutators/launchpriority"
	"github.com/fairlead-io/fairlead/mutators/readinessgate"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
	"github.com/fairlead-io/fairlead/protection/podunavailablebudget"
	"github.com/fairlead-io/fairlead/validators/neighbours"
	"github.com/fairlead-io/fairlead/validators/overlap"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/objects"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// gates says which feature gates are on.
type gates interface {
	Enabled(featuregate.Feature) bool
}

// policies are the objects that admission depends on, as its handlers look them up.
type policies struct {
	sidecarSets *sidecarset.Index
	// overlaps are the same SidecarSets, as the rules compare them.
	overlaps   *overlap.Index
	namespaces *objects.Namespaces
	budgets    *podunavailablebudget.Index
	// neighbours are what rules compare with each other, budgets among them.
	neighbours *neighbours.Index
	// revisions are the versions of SidecarSets in namespace, the one of this service.
	revisions *sidecarset.Revisions
	namespace string
}

// newPolicies are empty. live reads what they do not know yet, nil if there is nowhere to read it.
func newPolicies(o Options, live *lookups) policies {
	p := policies{
		sidecarSets: sidecarset.NewIndex(), overlaps: overlap.NewIndex(), budgets: podunavailablebudget.NewIndex(),
		neighbours: neighbours.NewIndex(clock.RealClock{}),
		namespace:  cmp.Or(o.Table.Namespace, table.DefaultNamespace),
	}
	var namespaces objects.LiveNamespace
	var revisions sidecarset.LiveRevisions // an interface that holds a nil pointer would not be nil
	if live != nil {
		namespaces, revisions = live.namespace, live
	}
	p.namespaces = objects.NewNamespaces(namespaces, clock.RealClock{})
	p.revisions = sidecarset.NewRevisions(p.namespace, revisions, mathrand.Float64, clock.RealClock{})
	if live != nil {
		live.revisions = p.revisionKind()
	}
	return p
}

// revisionKind is how the API server knows the revisions. Of all ControllerRevisions those of SidecarSets in our namespace
// are few, and the only ones that we may read.
func (p policies) revisionKind() objects.Kind {
	return objects.Kind{
		GroupKind: appsv1.SchemeGroupVersion.WithKind("ControllerRevision").GroupKind(),
		Resource:  "controllerrevisions", Version: appsv1.SchemeGroupVersion.Version,
		Namespace: p.namespace, Selector: v1beta1.SidecarSetNameLabel, Sink: p.revisions,
	}
}

// kinds are the kinds to be read, from wherever objects come.
func (p policies) kinds() []objects.Kind {
	return []objects.Kind{
		{
			GroupKind: kindOf("SidecarSet"),
			Resource:  "sidecarsets", Version: v1beta1.GroupVersion.Version, ClusterScoped: true,
			Sink: sidecarSets{p.sidecarSets, p.overlaps},
		},
		{
			GroupKind: corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind(),
			Resource:  "namespaces", Version: corev1.SchemeGroupVersion.Version, ClusterScoped: true,
			Sink: p.namespaces,
		},
		{
			GroupKind: kindOf("PodUnavailableBudget"),
			Resource:  "podunavailablebudgets", Version: policyv1beta1.GroupVersion.Version, Optional: true,
			Sink: tee{p.budgets, p.neighbours.Sink("podunavailablebudgets")},
		},
		p.revisionKind(),
	}
}

// compared are the kinds whose objects are only compared with each other: for a service, which is asked often. Who asks once lists
// the few that he needs.
func (p policies) compared() []objects.Kind {
	return []objects.Kind{p.comparedKind("WorkloadSpread", "workloadspreads"), p.comparedKind("PersistentPodState", "persistentpodstates")}
}

func (p policies) comparedKind(kind, resource string) objects.Kind {
	return objects.Kind{
		GroupKind: kindOf(kind),
		Resource:  resource, Version: v1beta1.GroupVersion.Version, Optional: true,
		Sink: p.neighbours.Sink(resource),
	}
}

// tee is two sinks as one.
type tee [2]objects.Sink

// Upsert implements objects.Sink.
func (t tee) Upsert(raw jsontext.Value) error { return errors.Join(t[0].Upsert(raw), t[1].Upsert(raw)) }

// Delete implements objects.Sink.
func (t tee) Delete(namespace, name string) {
	t[0].Delete(namespace, name)
	t[1].Delete(namespace, name)
}

func kindOf(name string) schema.GroupKind {
	if budget := policyv1beta1.GroupVersion.WithKind("PodUnavailableBudget").GroupKind(); name == budget.Kind {
		return budget
	}
	return schema.GroupKind{Group: v1beta1.GroupVersion.Group, Kind: name}
}

// sidecarSets is both indices as a sink.
type sidecarSets struct {
	injected *sidecarset.Index
	compared *overlap.Index
}

func (s sidecarSets) Upsert(raw jsontext.Value) error {
	return errors.Join(s.injected.Upsert(raw), s.compared.Upsert(raw))
}

func (s sidecarSets) Delete(namespace, name string) {
	s.injected.Delete(name)
	s.compared.Delete(namespace, name)
}

// deps are the handlers of the table, over these policies.
func (p policies) deps(on gates, observer sidecarset.Observer, judging rules, asking *live) webhook.Deps {
	// The order is that of pod-admission.md §2: sidecars get launch priorities too.
	pods := mutators.PodChain{
		readinessgate.New(on.Enabled(features.KruisePodReadinessGate)),
		sidecarset.NewMutator(p.sidecarSets, p.namespaces, time.Now, sidecarset.Options{
			SortByName: on.Enabled(features.EnableSortSidecarContainerByName), Revisions: p.revisions, Observer: observer,
		}),
		launchpriority.New(rand.String), //nolint:forbidigo // here the source of randomness is chosen
	}
	if on.Enabled(features.PodUnavailableBudgetDeleteGate) || on.Enabled(features.PodUnavailableBudgetUpdateGate) {
		pods = append(pods, podunavailablebudget.NewMutator(p.budgets, asking.replicaSets, asking.log))
	}
	complete := defaults.New(defaults.Options{Templates: judging.templates, Gates: on, Now: time.Now})
	return webhook.Deps{
		Gates:              on,
		SidecarSetDefaults: defaults.NewSidecarSetHandler(),
		Defaults:           complete.Handler,
		Rules:              func(kind string) admission.Handler { return judging.Handler(kindOf(kind)) },
		Pods:               pods, ContainerRecreate: asking.containerRecreate, Deletion: asking.deletion,
		Budgets: p.budgetHandler(on, asking),
	}
}

// budgetHandler judges what makes Pods unavailable.
func (p policies) budgetHandler(on gates, asking *live) admission.Handler {
	return podunavailablebudget.NewHandler(podunavailablebudget.Admission{
		Checker: podunavailablebudget.NewChecker(podunavailablebudget.Options{
			Store: asking.budgets, Clock: clock.RealClock{}, Random: mathrand.Float64,
			ResizeApart: on.Enabled(features.InPlacePodVerticalScaling),
		}),
		Known: p.budgets, Pods: asking.pods, Denied: asking.told.disruptionDenied,
		Deletes: on.Enabled(features.PodUnavailableBudgetDeleteGate), Updates: on.Enabled(features.PodUnavailableBudgetUpdateGate),
	})
}
