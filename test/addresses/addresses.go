// Package addresses has addresses for what tests serve in their own process, and leads a cluster's Services to it.
package addresses

import (
	"net"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Loopback is for what only this process asks.
const Loopback = "127.0.0.1"

// Host is an IPv4 address of this machine that an EndpointSlice may have: none of the loopback.
func Host(t testing.TB) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range all {
		if ip, _, err := net.ParseCIDR(address.String()); err == nil && ip.To4() != nil && ip.IsGlobalUnicast() {
			return ip.String()
		}
	}
	t.Fatal("this machine has no IPv4 address but loopback, which no EndpointSlice may have")
	return ""
}

// Free is a host and a port at which nobody listens.
func Free(t testing.TB, host string) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// Listened says whether somebody listens at a host and port.
func Listened(address string) bool {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	return err == nil && connection.Close() == nil
}

// Slice makes an EndpointSlice that leads a Service to a host and port, as to a Pod that is ready.
func Slice(t testing.TB, name, service, address string) *discoveryv1.EndpointSlice {
	t.Helper()
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To(int32(at.Port())), Protocol: ptr.To(corev1.ProtocolTCP)}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{at.Addr().String()}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
	}
}
