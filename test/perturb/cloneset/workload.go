// Package cloneset perturbs CloneSets: it says to the harness what a CloneSet is, what its user does to it, and what must
// hold (cloneset.md §3 to §5).
package cloneset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api"
	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/cloneset"
	"github.com/fairlead-io/fairlead/test/perturb"
	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

var (
	setKind      = v1beta1.GroupVersion.WithKind("CloneSet").GroupKind()
	claimKind    = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind()
	revisionKind = appsv1.SchemeGroupVersion.WithKind("ControllerRevision").GroupKind()
	jobKind      = v1beta1.GroupVersion.WithKind("ImagePullJob").GroupKind()
	parent       = apiserver.Key{Kind: setKind, Namespace: "ns", Name: "web"}
)

// mistake is a change to the controller that must be noticed.
type mistake struct {
	// client wraps the cached client of a process, and live the one that reads at the server.
	client, live func(client.Client) client.Client
	// watches change what wakes the controller.
	watches func([]perturb.Watch) []perturb.Watch
	// settings are no mistake: they are the installation's.
	settings cloneset.Settings
	// reconciler wraps the reconciler.
	reconciler func(*perturb.Process, reconcile.Reconciler) reconcile.Reconciler
}

// newWorkload is the CloneSet controller as it is, or with a mistake.
func newWorkload(m mistake) *perturb.Workload {
	scheme := newScheme()
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return &perturb.Workload{
		Scheme: scheme, Parent: parent, New: newSet, Edit: edit, Check: check, AtRest: atRest, Digest: digest, Admit: admit,
		Others:  operate,
		Kinds:   []schema.GroupKind{setKind, apiserver.PodKind, claimKind, revisionKind, perturb.NodeKind, jobKind},
		Counted: []schema.GroupKind{apiserver.PodKind, revisionKind},
		// Only who has tried to make its Pod can tell a claim whose Pod was never made from one whose Pod is gone.
		CountedByOne: []schema.GroupKind{claimKind},
		Start: func(r *perturb.Run, p *perturb.Process) (reconcile.Reconciler, []perturb.Watch) {
			cached, live := p.Client, p.Live
			if m.client != nil {
				cached = m.client(cached)
			}
			if m.live != nil {
				live = m.live(live)
			}
			controller := cloneset.New(cloneset.Options{
				Client: cached, Live: live, Recorder: &record.FakeRecorder{}, Clock: r.Clock(), NewID: r.NewID,
				Settings: m.settings,
			})
			var watches []perturb.Watch
			for _, w := range controller.Watches(scheme, mapper, true) {
				gvk, _, _ := scheme.ObjectKinds(w.Object)
				watches = append(watches, perturb.Watch{Kind: gvk[0].GroupKind(), Handler: w.Handler, Predicates: w.Predicates})
			}
			if m.watches != nil {
				watches = m.watches(watches)
			}
			if m.reconciler != nil {
				return m.reconciler(p, controller), watches
			}
			return controller, watches
		},
	}
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // the types are compiled in
		}
	}
	return scheme
}

// admit gives Pods the gate that the webhook gives those of our workloads.
func admit(obj client.Object) {
	if pod, isPod := obj.(*corev1.Pod); isPod && metav1.GetControllerOfNoCopy(pod) != nil {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: v1beta1.KruisePodReady})
	}
}

// newSet is a CloneSet of no Pods as the defaulting webhook makes it.
func newSet() client.Object {
	labels := map[string]string{"app": "web"}
	return &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: parent.Namespace, Name: parent.Name},
		Spec: v1beta1.CloneSetSpec{
			Replicas: ptr.To[int32](0),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: "main", Image: "web:1"}, {Name: "side", Image: "side:1", Env: []corev1.EnvVar{{Name: "MODE", Value: "0"}}},
				}},
			},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{
				Type: v1beta1.RollingUpdateCloneSetUpdateStrategyType,
				RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
					PodUpdatePolicy: v1beta1.RecreatePodUpdateStrategyType,
					Partition:       amount("0"), MaxUnavailable: amount("20%"), MaxSurge: amount("0"),
				},
			},
		},
	}
}
