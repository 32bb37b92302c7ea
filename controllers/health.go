package controllers

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fairlead-io/fairlead/controllers/admissionlive"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/server"
)

// probeTimeout is well above what a kubelet waits for an answer.
const probeTimeout = 10 * time.Second

// admission is what waits for it: readiness, and the controllers that create Pods.
type admission struct {
	checks    []server.Check
	mayCreate func() error
}

// addAdmission looks whether admission is live. Without the Pod webhook there is nothing to wait for.
func addAdmission(mgr manager.Manager, o Options) (admission, error) {
	if !o.Gates.Enabled(features.PodWebhook) {
		return admission{mayCreate: func() error { return nil }}, nil
	}
	plain, err := plainClient(mgr)
	if err != nil {
		return admission{}, err
	}
	live := admissionlive.New(plain, o.ProbeNamespace, webhook.Entries(webhook.Deps{Gates: o.Gates}), o.Log.WithName("admissionlive"))
	if err := mgr.Add(live); err != nil {
		return admission{}, fmt.Errorf("adding the check of admission: %w", err)
	}
	return admission{checks: []server.Check{{Name: "admission-live", OK: live.Missing}}, mayCreate: live.MayCreate}, nil
}

// addHealth serves /healthz, and /readyz with the reason when a check does not hold.
func addHealth(mgr manager.Manager, checks []server.Check, o Options) error {
	if o.HealthAddr == "0" {
		return nil
	}
	listener, err := net.Listen("tcp", o.HealthAddr)
	if err != nil {
		return fmt.Errorf("listening for health probes: %w", err)
	}
	// A manager.Server starts before the caches, so that a slow first list does not fail the liveness probe.
	if err := mgr.Add(&manager.Server{
		Name:            "health probes",
		Listener:        listener,
		Server:          &http.Server{Handler: server.Health(checks...), ReadHeaderTimeout: probeTimeout},
		ShutdownTimeout: ptr.To(time.Second),
	}); err != nil {
		return fmt.Errorf("serving health probes: %w", err)
	}
	return nil
}
