package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/test/addresses"
)

const (
	admissionService  = "kruise-admission"
	conversionService = "kruise-conversion"
)

// process is a replica of the Deployment.
type process struct {
	name, webhooks, health string
	end                    func()
}

// start runs a replica as the Deployment says now, and waits until it is ready.
func (w *world) start() {
	w.Helper()
	p := w.launch()
	w.until(p.name+" is ready", func() bool { return p.ready() == "ok" })
	w.endpoint(p, admissionService, true)
}

// launch runs a replica that gets no admission requests yet. Like one that gives its Pod the label of conversion, it gets what
// is to be converted as soon as it listens, ready or not.
func (w *world) launch() *process {
	w.Helper()
	w.started++
	p := &process{
		name: "replica-" + strconv.Itoa(w.started), webhooks: addresses.Free(w, addresses.Host(w)),
		health: addresses.Free(w, addresses.Loopback),
	}
	command := exec.Command(w.program, w.arguments(p)...)
	host, port, err := net.SplitHostPort(p.webhooks)
	w.check(err)
	command.Env = []string{
		"POD_NAMESPACE=" + namespace, "POD_NAME=" + p.name, "POD_IP=" + host, "SECRET_NAME=" + secret,
		"SERVICE_NAME=" + admissionService, "WEBHOOK_PORT=" + port, "WEBHOOK_CERT_DIR=" + w.mount,
	}
	p.end = w.run(command, p.name)
	w.until(p.name+" listens", func() bool { return addresses.Listened(p.webhooks) })
	w.endpoint(p, conversionService, true)
	w.endpoint(p, admissionService, false)
	w.replicas = append(w.replicas, p)
	return p
}

// arguments are those of the live Deployment, with addresses that several processes of one machine can have.
func (w *world) arguments(p *process) []string {
	w.Helper()
	deployment, err := w.client.AppsV1().Deployments(namespace).Get(w.Context(), "kruise-webhook", metav1.GetOptions{})
	w.check(err)
	var arguments []string
	for _, argument := range deployment.Spec.Template.Spec.Containers[0].Args {
		switch name, _, _ := strings.Cut(argument, "="); name {
		case "--metrics-addr":
			argument = "--metrics-addr=0"
		case "--health-probe-addr":
			argument = "--health-probe-addr=" + p.health
		case "--protection-log-path":
			argument = "--protection-log-path=" + w.TempDir()
		case "--shutdown-delay":
			argument = "--shutdown-delay=2s"
		}
		arguments = append(arguments, argument)
	}
	return append(arguments, "--kubeconfig="+w.limited, "--bind-address="+p.webhooks)
}

// ready is ok, or what the replica says that it lacks.
func (p *process) ready() string {
	client := &http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://" + p.health + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }() // it was only read from
	said, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(said))
}

// endpoint leads a Service to a replica, as to a Pod that is ready or not.
func (w *world) endpoint(p *process, service string, ready bool) {
	w.Helper()
	slice := addresses.Slice(w, service+"-"+p.name, service, p.webhooks)
	slice.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(ready), Serving: ptr.To(ready)}
	slices := w.client.DiscoveryV1().EndpointSlices(namespace)
	if _, err := slices.Create(w.Context(), slice, metav1.CreateOptions{}); err == nil {
		return
	}
	_, err := slices.Update(w.Context(), slice, metav1.UpdateOptions{})
	w.check(err)
}

// stopOldest takes the oldest replica out of the Services, ends it and waits until it has ended.
func (w *world) stopOldest() {
	w.Helper()
	p := w.replicas[0]
	w.replicas = w.replicas[1:]
	for _, service := range []string{admissionService, conversionService} {
		w.check(w.client.DiscoveryV1().EndpointSlices(namespace).Delete(w.Context(), service+"-"+p.name, metav1.DeleteOptions{}))
	}
	p.end()
}

// roll replaces every replica as a rolling update does: a new one first.
func (w *world) roll() {
	w.Helper()
	for range len(w.replicas) {
		w.start()
		time.Sleep(time.Second) // endpoints take a moment
		w.stopOldest()
	}
}

// served are the certificates of all replicas.
func (w *world) served() []*x509.Certificate {
	w.Helper()
	var all []*x509.Certificate
	for _, p := range w.replicas {
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // whose it is, is for the test to say
		connection, err := dialer.DialContext(ctx, "tcp", p.webhooks)
		cancel()
		if err != nil {
			w.Fatalf("connecting to %s: %v", p.name, err)
		}
		all = append(all, connection.(*tls.Conn).ConnectionState().PeerCertificates[0])
		_ = connection.Close()
	}
	return all
}

// allServe says whether every replica serves a certificate that a CA verifies.
func (w *world) allServe(ca []byte) bool {
	w.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return false
	}
	for _, one := range w.served() {
		if _, err := one.Verify(x509.VerifyOptions{Roots: roots, DNSName: admissionService + "." + namespace + ".svc"}); err != nil {
			return false
		}
	}
	return true
}
