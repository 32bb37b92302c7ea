package registration

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Published returns what certs.Options.Published wants: whether every registered webhook that leads to us trusts a CA, and
// so does every definition, if there is a conversion. It is also true while none is registered.
func Published(client kubernetes.Interface, config table.Config, conversion *Conversion) func(ctx context.Context, caPEM []byte) (bool, error) {
	return func(ctx context.Context, caPEM []byte) (bool, error) {
		authorities, err := cert.ParseCertsPEM(caPEM)
		if err != nil {
			return false, fmt.Errorf("parsing a CA: %w", err)
		}
		return everyBundle(ctx, client, config, conversion, func(bundle []byte) bool { return contains(bundle, authorities[0]) })
	}
}

// Trusted returns what certs.Handover wants: whether every registered webhook that leads to us, and every definition, if
// there is a conversion, accepts a certificate. It is also true while none is registered.
func Trusted(client kubernetes.Interface, config table.Config, conversion *Conversion, clock clock.PassiveClock) certs.Trust {
	return func(ctx context.Context, served *tls.Certificate) (bool, error) {
		return everyBundle(ctx, client, config, conversion, func(bundle []byte) bool { return certs.Verifies(bundle, served, clock.Now()) })
	}
}

// everyBundle says whether all bundles that API servers check us with satisfy a condition.
func everyBundle(ctx context.Context, client kubernetes.Interface, config table.Config, conversion *Conversion, good func([]byte) bool) (bool, error) {
	if all, err := everyConfiguration(ctx, store{client: client}, config, good); err != nil || !all || conversion == nil {
		return all, err
	}
	return everyDefinition(ctx, config, conversion, good)
}

func everyConfiguration(ctx context.Context, s store, config table.Config, good func([]byte) bool) (bool, error) {
	for _, of := range kinds {
		live, err := s.read(ctx, of)
		if err != nil {
			return false, err
		}
		if live == nil {
			continue
		}
		for _, webhook := range live.Webhooks {
			if config.ReachesUs(webhook.ClientConfig) && !good(webhook.ClientConfig.CABundle) {
				return false, nil
			}
		}
	}
	return true, nil
}

func everyDefinition(ctx context.Context, config table.Config, conversion *Conversion, good func([]byte) bool) (bool, error) {
	s, c := definitionStore{conversion.Client}, newConverting(config, conversion.Service, conversion.Path, nil, false)
	for _, name := range conversion.Definitions {
		live, there, err := s.read(ctx, name)
		if err != nil {
			return false, err
		}
		if there && c.reaches(live.client()) && !good(live.client().CABundle) {
			return false, nil
		}
	}
	return true, nil
}

// contains says whether a bundle has an authority. One that cannot be read has none.
func contains(bundle []byte, authority *x509.Certificate) bool {
	trusted, _ := cert.ParseCertsPEM(bundle)
	return slices.ContainsFunc(trusted, func(c *x509.Certificate) bool { return bytes.Equal(c.Raw, authority.Raw) })
}
