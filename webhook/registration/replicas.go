package registration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	// askTimeout is long for an answer that is ready in memory; a replica that takes longer is not serving.
	askTimeout = 3 * time.Second
	// askAtOnce bounds connections; there are rarely more replicas.
	askAtOnce = 16
	// maxAnswer bounds the list of names and paths, a few kilobytes.
	maxAnswer = 64 << 10
)

// replicas finds out what the ready replicas of the service serve.
type replicas struct {
	client kubernetes.Interface
	config table.Config
	bundle func() []byte
}

// fleet asks every ready replica. One that does not answer counts as ready and serving nothing, so that new entries
// wait for it.
func (r replicas) fleet(ctx context.Context) (fleet, error) {
	addresses, err := r.addresses(ctx)
	if err != nil {
		return fleet{}, err
	}
	client, err := r.httpClient()
	if err != nil {
		return fleet{}, err
	}
	defer client.CloseIdleConnections()
	answers := make([]map[string]string, len(addresses))
	var asking errgroup.Group
	asking.SetLimit(askAtOnce)
	for i, address := range addresses {
		asking.Go(func() error {
			paths, err := ask(ctx, client, address)
			if err != nil {
				klog.FromContext(ctx).Error(err, "A ready replica does not say which webhooks it serves; new ones wait for it")
			}
			answers[i] = paths
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		return fleet{}, err
	}
	return inCommon(answers), nil
}

// inCommon is what replicas with these answers serve together.
func inCommon(answers []map[string]string) fleet {
	f := fleet{ready: len(answers), serving: map[served]int{}}
	for _, paths := range answers {
		for name, path := range paths {
			f.serving[served{name, path}]++
		}
	}
	return f
}

// addresses lists host:port of each ready replica.
func (r replicas) addresses(ctx context.Context) ([]string, error) {
	if r.config.Host != "" {
		return []string{r.config.Host}, nil
	}
	slices, err := r.slices(ctx, r.config.Service)
	if err != nil {
		return nil, err
	}
	return readyAddresses(slices), nil
}

// reachable says whether a Service reaches any replica.
func (r replicas) reachable(ctx context.Context, service string) (bool, error) {
	if r.config.Host != "" {
		return true, nil
	}
	slices, err := r.slices(ctx, service)
	return len(readyAddresses(slices)) > 0, err
}

func (r replicas) slices(ctx context.Context, service string) ([]discoveryv1.EndpointSlice, error) {
	list, err := r.client.DiscoveryV1().EndpointSlices(r.config.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the replicas of Service %s/%s: %w", r.config.Namespace, service, err)
	}
	return list.Items, nil
}

// readyAddresses reads the first address of each ready endpoint: the others are the same Pod's. A Service of two IP
// families has slices for both, and both must answer, as the API server may use either.
func readyAddresses(endpointSlices []discoveryv1.EndpointSlice) []string {
	var addresses []string
	for _, slice := range endpointSlices {
		if slice.AddressType == discoveryv1.AddressTypeFQDN || len(slice.Ports) != 1 || slice.Ports[0].Port == nil {
			continue // not a slice of our Service, which has one port
		}
		port := strconv.Itoa(int(*slice.Ports[0].Port))
		for _, endpoint := range slice.Endpoints {
			// Unset means ready (the API's own rule).
			if ready := endpoint.Conditions.Ready; len(endpoint.Addresses) > 0 && (ready == nil || *ready) {
				addresses = append(addresses, net.JoinHostPort(endpoint.Addresses[0], port))
			}
		}
	}
	return addresses
}

// httpClient trusts what the API server will trust, and asks for the same name.
func (r replicas) httpClient() (*http.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(r.bundle()) {
		return nil, errors.New("asking replicas: there is no CA bundle yet")
	}
	return &http.Client{
		Timeout: askTimeout,
		Transport: &http.Transport{
			// No proxy: these are Pods.
			TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: r.config.ServerName(), MinVersion: tls.VersionTLS12},
		},
	}, nil
}

// ask gets the paths of the entries that a replica serves, by name.
func ask(ctx context.Context, client *http.Client, address string) (map[string]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/webhooks", nil)
	if err != nil {
		return nil, fmt.Errorf("asking replica %s: %w", address, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking replica %s: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read from
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking replica %s: it answers %s", address, response.Status)
	}
	var paths map[string]string
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&paths); err != nil {
		return nil, fmt.Errorf("asking replica %s: decoding its answer: %w", address, err)
	}
	return paths, nil
}
