package registration

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are counted per configuration name; that of a definition counts as one.
type metrics struct {
	drift      *prometheus.CounterVec
	registered *prometheus.GaugeVec
}

func newMetrics(registerer prometheus.Registerer) (metrics, error) {
	m := metrics{
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_webhook_configuration_drift_total",
			Help: "How often a webhook configuration was found changed by others and repaired.",
		}, []string{"configuration"}),
		registered: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fairlead_webhook_configuration_registered",
			Help: "1 while the webhook configuration is as this replica would register it, else 0.",
		}, []string{"configuration"}),
	}
	return m, errors.Join(registerer.Register(m.drift), registerer.Register(m.registered))
}
