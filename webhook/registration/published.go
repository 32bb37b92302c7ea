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

// Published returns what certs.Options.Published wants: whether every registered webhook that leads to us trusts a CA.
// It is also true while none is registered.
func Published(client kubernetes.Interface, config table.Config) func(ctx context.Context, caPEM []byte) (bool, error) {
	s := store{client: client}
	return func(ctx context.Context, caPEM []byte) (bool, error) {
		authorities, err := cert.ParseCertsPEM(caPEM)
		if err != nil {
			return false, fmt.Errorf("parsing a CA: %w", err)
		}
		for _, mutating := range kinds {
			live, err := s.read(ctx, mutating)
			if err != nil {
				return false, err
			}
			if live != nil && !trusts(config, live, authorities[0]) {
				return false, nil
			}
		}
		return true, nil
	}
}

func trusts(config table.Config, live *table.Configuration, authority *x509.Certificate) bool {
	for _, webhook := range live.Webhooks {
		if !config.ReachesUs(webhook.ClientConfig) {
			continue
		}
		// A bundle that cannot be read trusts nobody.
		trusted, _ := cert.ParseCertsPEM(webhook.ClientConfig.CABundle)
		if !slices.ContainsFunc(trusted, func(c *x509.Certificate) bool { return bytes.Equal(c.Raw, authority.Raw) }) {
			return false
		}
	}
	return true
}
