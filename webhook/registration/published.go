package registration

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"crypto/x509"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

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
		if trusted, err := configurationsTrust(ctx, store{client: client}, config, authorities[0]); err != nil || !trusted || conversion == nil {
			return trusted, err
		}
		return definitionsTrust(ctx, config, conversion, authorities[0])
	}
}

func configurationsTrust(ctx context.Context, s store, config table.Config, authority *x509.Certificate) (bool, error) {
	for _, mutating := range kinds {
		live, err := s.read(ctx, mutating)
		if err != nil {
			return false, err
		}
		if live != nil && !trusts(config, live, authority) {
			return false, nil
		}
	}
	return true, nil
}

func trusts(config table.Config, live *table.Configuration, authority *x509.Certificate) bool {
	for _, webhook := range live.Webhooks {
		if config.ReachesUs(webhook.ClientConfig) && !contains(webhook.ClientConfig.CABundle, authority) {
			return false
		}
	}
	return true
}

func definitionsTrust(ctx context.Context, config table.Config, conversion *Conversion, authority *x509.Certificate) (bool, error) {
	s, c := definitionStore{conversion.Client}, newConverting(config, conversion.Service, conversion.Path, nil, false)
	for _, name := range conversion.Definitions {
		live, there, err := s.read(ctx, name)
		if err != nil {
			return false, err
		}
		if there && c.reaches(live.client()) && !contains(live.client().CABundle, authority) {
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
