package certs

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// expiring is a Source that knows when its CA ends; zero until there is one.
type expiring interface {
	Source
	caExpiry() time.Time
}

var (
	_ expiring = (*Authority)(nil)
	_ expiring = (*Mounted)(nil)
	_ expiring = (*Handover)(nil)
)

// RegisterMetrics exports when the CA and this replica's certificate end, for alerts. Both are 0 until there is one.
func (a *Authority) RegisterMetrics(registerer prometheus.Registerer) error {
	return registerMetrics(registerer, a)
}

// RegisterMetrics exports what that of an Authority does.
func (m *Mounted) RegisterMetrics(registerer prometheus.Registerer) error {
	return registerMetrics(registerer, m)
}

// RegisterMetrics exports what that of an Authority does, and which source is served from.
func (h *Handover) RegisterMetrics(registerer prometheus.Registerer) error {
	return errors.Join(registerMetrics(registerer, h), registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fairlead_webhook_certificate_handover",
		Help: "1 while this replica serves a certificate of the other mode, because clients do not trust one of its own mode yet, else 0.",
	}, func() float64 {
		if h.side() == fallback {
			return 1
		}
		return 0
	})))
}

func registerMetrics(registerer prometheus.Registerer, source expiring) error {
	return errors.Join(
		registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_webhook_ca_expiration_timestamp_seconds",
			Help: "When the CA that signs the webhook's serving certificates expires, in Unix time.",
		}, func() float64 { return unix(source.caExpiry()) })),
		registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_webhook_certificate_expiration_timestamp_seconds",
			Help: "When the serving certificate of this replica expires, in Unix time.",
		}, func() float64 { return unix(leafExpiry(source)) })),
	)
}

func (a *Authority) caExpiry() time.Time {
	if signer := a.leaf.current(); signer != nil {
		return signer.cert.NotAfter
	}
	return time.Time{}
}

func (h *Handover) caExpiry() time.Time {
	if source, ok := h.serving().(expiring); ok {
		return source.caExpiry()
	}
	return time.Time{}
}

func leafExpiry(source Source) time.Time {
	served, err := source.GetCertificate(nil)
	if err != nil {
		return time.Time{}
	}
	return served.Leaf.NotAfter
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}
