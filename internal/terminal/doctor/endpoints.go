package doctor

import (
	"context"
	"fmt"
	"net"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conversionService reaches replicas that are not ready for admission yet.
const conversionService = "kruise-conversion"

func checkEndpoints(ctx context.Context, d *Doctor, r *report) error {
	if d.config.Host != "" {
		r.add(Info, d.config.Host, "the API server reaches the service by this address, not by a Service", "", "")
		return nil
	}
	for _, c := range []struct{ service, means string }{
		{d.config.Service, "admission is not answered; with failure policy Fail no Pod is created"},
		{conversionService, unconverted()},
	} {
		object := fmt.Sprintf("Service %s/%s", d.config.Namespace, c.service)
		_, err := d.cluster.Client.CoreV1().Services(d.config.Namespace).Get(ctx, c.service, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			r.add(Error, object, "it does not exist", c.means, "helm upgrade kruise charts/kruise")
			continue
		}
		if err != nil {
			return err
		}
		addresses, err := d.addresses(ctx, c.service)
		if err != nil {
			return err
		}
		if len(addresses) == 0 {
			r.add(Error, object, "it has no ready endpoint", c.means, fmt.Sprintf("kubectl -n %s get pods -l control-plane=kruise-webhook; kubectl -n %[1]s logs deploy/kruise-webhook", d.config.Namespace))
		}
	}
	return nil
}

// addresses are the ready endpoints of a Service, as host:port.
func (d *Doctor) addresses(ctx context.Context, service string) (addresses []string, err error) {
	slices, err := d.cluster.Client.DiscoveryV1().EndpointSlices(d.config.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return nil, err
	}
	for _, slice := range slices.Items {
		if len(slice.Ports) == 0 || slice.Ports[0].Port == nil {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if ready := endpoint.Conditions.Ready; ready != nil && !*ready || len(endpoint.Addresses) == 0 {
				continue
			}
			addresses = append(addresses, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*slice.Ports[0].Port))))
		}
	}
	return addresses, nil
}
