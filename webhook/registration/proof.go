package registration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// proofTime is for how long every replica must have been seen to serve a certificate of this mode. One that clients
// trust both ways serves it after 5 s (certs.Handover), looks every 2 s, and may have been starting.
const proofTime = 15 * time.Second

// proof finds out whether the mode has arrived everywhere.
type proof struct {
	replicas replicas
	services []string
	own      func() []byte
	clock    clock.Clock

	mu sync.Mutex
	// since is since when all replicas were seen to serve it; zero if they were not.
	since, asked time.Time
}

// settled asks the replicas, at most once a second.
func (p *proof) settled(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if now.Sub(p.asked) >= time.Second {
		p.asked = now
		switch err := p.replicas.serve(ctx, p.services, p.own()); {
		case err != nil:
			klog.FromContext(ctx).V(2).Info("Certificates of another mode may still be served", "because", err)
			p.since = time.Time{}
		case p.since.IsZero():
			p.since = now
		}
	}
	return !p.since.IsZero() && now.Sub(p.since) >= proofTime
}

// forget starts anew, as another replica may have led meanwhile.
func (p *proof) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since, p.asked = time.Time{}, time.Time{}
}

// serve returns nil if all replicas that requests can reach through the Services, ready or not, serve certificates that a
// bundle verifies.
func (r replicas) serve(ctx context.Context, services []string, bundle []byte) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("there is no CA bundle yet")
	}
	addresses, err := r.everyAddress(ctx, services)
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return errors.New("there are no replicas")
	}
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: askTimeout},
		Config:    &tls.Config{RootCAs: roots, ServerName: r.config.ServerName(), MinVersion: tls.VersionTLS12},
	}
	for _, address := range addresses {
		within, cancel := context.WithTimeout(ctx, askTimeout)
		connection, err := dialer.DialContext(within, "tcp", address)
		cancel()
		if err != nil {
			return fmt.Errorf("connecting to replica %s: %w", address, err)
		}
		_ = connection.Close() // only the handshake matters
	}
	return nil
}

func (r replicas) everyAddress(ctx context.Context, services []string) ([]string, error) {
	if r.config.Host != "" {
		return []string{r.config.Host}, nil
	}
	var addresses []string
	for _, service := range services {
		endpointSlices, err := r.slices(ctx, service)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, servingAddresses(endpointSlices)...)
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), nil
}

// servingAddresses reads the first address of each endpoint that may get requests, also of those that are being stopped.
func servingAddresses(endpointSlices []discoveryv1.EndpointSlice) []string {
	var addresses []string
	for _, slice := range endpointSlices {
		if slice.AddressType == discoveryv1.AddressTypeFQDN || len(slice.Ports) != 1 || slice.Ports[0].Port == nil {
			continue // not a slice of our Services, which have one port
		}
		port := strconv.Itoa(int(*slice.Ports[0].Port))
		for _, endpoint := range slice.Endpoints {
			ready, serving := endpoint.Conditions.Ready, endpoint.Conditions.Serving
			idle := ready != nil && !*ready && (serving == nil || !*serving)
			if len(endpoint.Addresses) > 0 && !idle {
				addresses = append(addresses, net.JoinHostPort(endpoint.Addresses[0], port))
			}
		}
	}
	return addresses
}
