package controllers

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/cloneset"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/protection/podunavailablebudget"
)

// longestRetry is how long a CloneSet waits at most that could not be synced, unless so many fail that the limit of all retries is
// reached: nothing tells when a quota is lifted, or a policy changed, that has refused its Pods.
const longestRetry = time.Minute

// addCloneSet adds the controller of CloneSets when their kind is installed. It creates no Pod while mayCreate says why not.
func addCloneSet(mgr manager.Manager, live client.Client, mayCreate func() error, o Options) error {
	kinds := []schema.GroupVersionKind{v1beta1.GroupVersion.WithKind("CloneSet")}
	if o.Gates.Enabled(features.PreDownloadImageForInPlaceUpdate) {
		kinds = append(kinds, v1beta1.GroupVersion.WithKind("ImagePullJob"))
	}
	budget, err := budgetOf(mgr, o)
	if err != nil {
		return err
	}
	setup := cloneset.Setup{
		Budget: budget, MayCreate: mayCreate,
		Gates: o.Gates, Live: live, Workers: o.CloneSet.Workers, ExcludePreparingDelete: o.CloneSet.ExcludePreparingDelete,
		Registerer: metrics.Registry,
		Random:     rand.String, //nolint:forbidigo // here the source of randomness is chosen
	}
	return whenInstalled(mgr, func(ctx context.Context) error {
		return setup.AddTo(ctx, mgr, o.retryingWithin(longestRetry).forController())
	}, kinds...)
}

// budgetOf asks PodUnavailableBudgets if their gate for updates is on. The unit that it takes is what admission then finds
// booked for the Pod.
func budgetOf(mgr manager.Manager, o Options) (cloneset.Budget, error) {
	if !o.Gates.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return nil, nil
	}
	core, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("setting up a client for budgets: %w", err)
	}
	checker := podunavailablebudget.NewChecker(podunavailablebudget.Options{
		Store: podunavailablebudget.NewStore(core.CoreV1().RESTClient()), Clock: clock.RealClock{}, Random: mathrand.Float64,
		ResizeApart: o.Gates.Enabled(features.InPlacePodVerticalScaling),
	})
	return func(ctx context.Context, pod *corev1.Pod) (bool, string, error) {
		verdict, err := checker.Check(ctx, pod, policyv1beta1.PubUpdateOperation, false)
		return verdict.Allowed(), verdict.Message, err
	}, nil
}
