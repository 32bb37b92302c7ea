package controllers

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/controllers/policyaudit"
)

// addPolicyAudit adds the audit of what exists by users' policies, if it is to run.
func addPolicyAudit(mgr manager.Manager, o Options) error {
	if o.PolicyAudit.Interval == 0 {
		return nil
	}
	client, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("setting up a client for the audit of policies: %w", err)
	}
	return mgr.Add(policyaudit.New(policyaudit.Options{
		Client: client.CoreV1().RESTClient(), Discovery: client.Discovery(), Namespace: o.PolicyAudit.Namespace,
		Bundles: o.PolicyAudit.Bundles, BundleDir: o.PolicyAudit.BundleDir, Interval: o.PolicyAudit.Interval,
		Clock: clock.RealClock{}, Random: rand.Float64, Log: o.Log.WithName("policyaudit"), Registerer: metrics.Registry,
	}))
}
