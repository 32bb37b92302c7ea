package certs

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// RegisterMetrics exports when the CA and this replica's certificate end, for alerts. Both are 0 until there is one.
func (a *Authority) RegisterMetrics(registerer prometheus.Registerer) error {
	return errors.Join(
		registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_webhook_ca_expiration_timestamp_seconds",
			Help: "When the CA that signs the webhook's serving certificates expires, in Unix time.",
		}, a.caExpiry)),
		registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_webhook_certificate_expiration_timestamp_seconds",
			Help: "When the serving certificate of this replica expires, in Unix time.",
		}, a.leafExpiry)),
	)
}

func (a *Authority) caExpiry() float64 {
	signer := a.leaf.current()
	if signer == nil {
		return 0
	}
	return float64(signer.cert.NotAfter.Unix())
}

func (a *Authority) leafExpiry() float64 {
	served, err := a.leaf.get()
	if err != nil {
		return 0
	}
	return float64(served.Leaf.NotAfter.Unix())
}
