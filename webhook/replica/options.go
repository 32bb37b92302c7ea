// Package replica puts one running admission service together: the objects it depends on, the mutators, the server
// with its probes and metrics, and, in a cluster, certificates and registration.
package replica

import (
	"context"
	"io"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Options are what both modes need; all are required but MaxInFlight and those that say otherwise.
type Options struct {
	// BindAddress is where webhooks are served. MetricsAddr and HealthAddr are those of /metrics, and of /healthz and
	// /readyz; "" or "0" serves them nowhere else than the mode says.
	BindAddress, MetricsAddr, HealthAddr string
	Gates                                *features.Gates
	Table                                table.Config
	// MaxInFlight is how many reviews may be judged at once; 0 is the server's default.
	MaxInFlight int
	// ShutdownDelay is how long to serve after being told to stop, and ShutdownGrace what running requests then have.
	ShutdownDelay, ShutdownGrace time.Duration
	Log                          klog.Logger
	// ProtectionLogPath is the folder of the audit log of deletion protection; "" for none.
	ProtectionLogPath string
	// AccessLog gets a JSON line for each changed or refused request.
	AccessLog io.Writer
	// Rules, if it is set, runs beside the service and may put other rules in Rego into force.
	Rules func(ctx context.Context, engine *validators.Engine) error
	// Policies are users' policies.
	Policies PolicyOptions
	// Version is what the build information says.
	Version string
}
