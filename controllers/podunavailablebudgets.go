package controllers

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podunavailablebudget"
	"github.com/fairlead-io/fairlead/internal/features"
)

// addPodUnavailableBudget adds the controller of PodUnavailableBudgets when admission asks them, and their kind is installed.
func addPodUnavailableBudget(mgr manager.Manager, live client.Client, o Options) error {
	if !o.Gates.Enabled(features.PodUnavailableBudgetDeleteGate) && !o.Gates.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return nil
	}
	setup := podunavailablebudget.Setup{Live: live, Workers: o.PodUnavailableBudgetWorkers, Clock: clock.RealClock{}}
	return whenInstalled(mgr, func(ctx context.Context) error { return setup.AddTo(ctx, mgr, o.forController()) },
		policyv1beta1.GroupVersion.WithKind("PodUnavailableBudget"))
}
