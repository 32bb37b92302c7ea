package registration

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/webhook/table"
)

func TestInCommonIsWhatEveryReplicaServes(t *testing.T) {
	type paths = map[string]string
	for name, c := range map[string]struct {
		answers []paths
		want    []string
	}{
		"none":               {nil, nil},
		"one":                {[]paths{{"a": "/a", "b": "/b"}}, []string{"a", "b"}},
		"the old lacks one":  {[]paths{{"a": "/a", "b": "/b"}, {"a": "/a"}}, []string{"a"}},
		"the old has more":   {[]paths{{"a": "/a"}, {"a": "/a", "b": "/b"}, {"b": "/b", "a": "/a"}}, []string{"a"}},
		"another path":       {[]paths{{"a": "/a", "b": "/b"}, {"a": "/old", "b": "/b"}}, []string{"b"}},
		"one does not say":   {[]paths{{"a": "/a"}, nil}, nil},
		"the first says not": {[]paths{nil, {"a": "/a"}}, nil},
	} {
		got := inCommon(c.answers)
		if got.ready != len(c.answers) {
			t.Errorf("%s: %d ready", name, got.ready)
		}
		for _, entry := range []string{"a", "b"} {
			wanted := false
			for _, one := range c.want {
				wanted = wanted || one == entry
			}
			if serves := got.serve(table.Entry{Name: entry, Path: "/" + entry}); serves != wanted {
				t.Errorf("%s: serves %s: %v, want %v", name, entry, serves, wanted)
			}
		}
	}
}

func TestReadyAddresses(t *testing.T) {
	port := []discoveryv1.EndpointPort{{Port: ptr.To[int32](9876)}}
	endpoint := func(ready *bool, addresses ...string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: addresses, Conditions: discoveryv1.EndpointConditions{Ready: ready}}
	}
	got := readyAddresses([]discoveryv1.EndpointSlice{
		{AddressType: "IPv4", Ports: port, Endpoints: []discoveryv1.Endpoint{
			endpoint(ptr.To(true), "10.0.0.1"), endpoint(ptr.To(false), "10.0.0.2"), endpoint(nil, "10.0.0.3", "10.0.0.4"), endpoint(nil),
		}},
		{AddressType: "IPv6", Ports: port, Endpoints: []discoveryv1.Endpoint{endpoint(ptr.To(true), "fd00::1")}},
		{AddressType: "FQDN", Ports: port, Endpoints: []discoveryv1.Endpoint{endpoint(nil, "a.example")}},
		{AddressType: "IPv4", Endpoints: []discoveryv1.Endpoint{endpoint(nil, "10.0.0.9")}},
	})
	if diff := cmp.Diff([]string{"10.0.0.1:9876", "10.0.0.3:9876", "[fd00::1]:9876"}, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// replica serves /webhooks as a replica with a certificate from source does.
func replica(t *testing.T, source certs.Source, answer http.HandlerFunc) (port int32) {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{GetCertificate: source.GetCertificate}
	server.StartTLS()
	t.Cleanup(server.Close)
	return int32(server.Listener.Addr().(*net.TCPAddr).Port)
}

func serving(names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/webhooks" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		paths := map[string]string{}
		for _, name := range names {
			paths[name] = "/mutate-pod"
		}
		_ = json.NewEncoder(w).Encode(paths)
	}
}

func slice(name, service string, port int32) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "kruise-system", Labels: map[string]string{"kubernetes.io/service-name": service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1"}}},
	}
}

func TestFleetAsksTheReadyReplicasOfOurService(t *testing.T) {
	ours, err := certs.SelfSigned([]string{"kruise-admission.kruise-system.svc"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	impostor, err := certs.SelfSigned([]string{"kruise-admission.kruise-system.svc"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	misnamed, err := certs.SelfSigned([]string{"other.kruise-system.svc"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	broken := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	rubbish := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }
	for name, c := range map[string]struct {
		other *discoveryv1.EndpointSlice
		trust certs.Source
		ready int
		pods  bool
	}{
		"both serve":           {slice("b", "kruise-admission", replica(t, ours, serving("mpod.kb.io"))), ours, 2, true},
		"of another Service":   {slice("b", "kruise-conversion", replica(t, ours, serving())), ours, 1, true},
		"an old one":           {slice("b", "kruise-admission", replica(t, ours, serving())), ours, 2, false},
		"signed by another CA": {slice("b", "kruise-admission", replica(t, impostor, serving("mpod.kb.io"))), ours, 2, false},
		"fails":                {slice("b", "kruise-admission", replica(t, ours, broken)), ours, 2, false},
		"answers rubbish":      {slice("b", "kruise-admission", replica(t, ours, rubbish)), ours, 2, false},
		"nobody listens":       {slice("b", "kruise-admission", 1), ours, 2, false},
		"for another name":     {slice("b", "kruise-admission", replica(t, misnamed, serving("mpod.kb.io"))), misnamed, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(slice("a", "kruise-admission", replica(t, c.trust, serving("mpod.kb.io", "mnode.kb.io"))), c.other)
			got, err := replicas{client: client, config: testConfig(t), bundle: c.trust.Bundle}.fleet(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if pods := got.serve(testTable()[0]); got.ready != c.ready || pods != c.pods {
				t.Errorf("%d ready, serve mpod.kb.io: %v; want %d, %v", got.ready, pods, c.ready, c.pods)
			}
			if got.serve(testTable()[1]) {
				t.Error("mnode.kb.io is said to be served where the table has it, but it is served at another path")
			}
		})
	}
}

func TestFleetNeedsATrustedCA(t *testing.T) {
	client := fake.NewClientset(slice("a", "kruise-admission", 1))
	_, err := replicas{client: client, config: testConfig(t), bundle: func() []byte { return nil }}.fleet(t.Context())
	if err == nil {
		t.Error("asked without a CA")
	}
}
