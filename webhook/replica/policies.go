package replica

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/component-base/featuregate"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/mutators/defaults"
	"github.com/fairlead-io/fairlead/mutators/launchpriority"
	"github.com/fairlead-io/fairlead/mutators/readinessgate"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/overlap"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/objects"
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
}

func newPolicies(namespaces *objects.Namespaces) policies {
	return policies{sidecarSets: sidecarset.NewIndex(), overlaps: overlap.NewIndex(), namespaces: namespaces}
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
	}
}

func kindOf(name string) schema.GroupKind {
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
func (p policies) deps(on gates, observer sidecarset.Observer, rules *validators.Engine) webhook.Deps {
	return webhook.Deps{
		Gates:              on,
		SidecarSetDefaults: defaults.NewSidecarSetHandler(),
		Rules:              func(kind string) admission.Handler { return rules.Handler(kindOf(kind)) },
		// The order is that of pod-admission.md §2: sidecars get launch priorities too.
		Pods: mutators.PodChain{
			readinessgate.New(on.Enabled(features.KruisePodReadinessGate)),
			sidecarset.NewMutator(p.sidecarSets, p.namespaces, time.Now, sidecarset.Options{
				SortByName: on.Enabled(features.EnableSortSidecarContainerByName), Observer: observer,
			}),
			launchpriority.New(rand.String), //nolint:forbidigo // here the source of randomness is chosen
		},
	}
}
