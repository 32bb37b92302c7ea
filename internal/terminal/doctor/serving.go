package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// dialTimeout is long for a cluster's network, and short for a person whose machine is not on it.
	dialTimeout = 2 * time.Second
	// leafSoon is when a replica should long have renewed its certificate, which it does at two thirds of a day or more.
	leafSoon = 6 * time.Hour
)

// checkServing asks replicas for their certificates, where they can be reached from here.
func checkServing(ctx context.Context, d *Doctor, r *report) error {
	addresses := []string{d.config.Host}
	if d.config.Host == "" {
		var err error
		if addresses, err = d.addresses(ctx, d.config.Service); err != nil {
			return err
		}
	}
	live, err := d.configuration(ctx, true)
	if err != nil {
		return err
	}
	var bundle []byte
	if live != nil {
		for _, w := range live.Webhooks {
			if d.config.ReachesUs(w.ClientConfig) {
				bundle = w.ClientConfig.CABundle
				break
			}
		}
	}
	if bundle == nil || len(addresses) == 0 {
		r.add(Info, "", "there is no replica, or no caBundle to trust it by", "", "see the other findings")
		return nil
	}
	for _, address := range addresses {
		d.dial(ctx, r, address, bundle)
	}
	return nil
}

func (d *Doctor) dial(ctx context.Context, r *report, address string, bundle []byte) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: &tls.Config{
		RootCAs: roots, ServerName: d.config.ServerName(), Time: d.now, MinVersion: tls.VersionTLS12,
	}}
	limited, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	object := "replica " + address
	connection, err := dialer.DialContext(limited, "tcp", address)
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		r.add(Error, object, fmt.Sprintf("its certificate is not trusted by caBundle: %v", untrusted.Err),
			"the API server refuses or ignores by failure policy", d.bundleCure())
		return
	case err != nil:
		r.add(Info, object, fmt.Sprintf("it cannot be reached from here: %v", err), "the check \"probe\" goes through the API server instead", "")
		return
	}
	defer func() { _ = connection.Close() }()
	leaf := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
	if left := leaf.NotAfter.Sub(d.now()); left < leafSoon {
		r.add(Warning, object, "its certificate expires at "+leaf.NotAfter.UTC().Format(time.RFC3339), "the replica cannot renew it",
			fmt.Sprintf("kubectl -n %s logs deploy/kruise-webhook | grep -i certificate", d.config.Namespace))
	}
}
