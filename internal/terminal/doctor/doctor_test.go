package doctor

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// found is the only finding of a report, "" if there is none.
func found(t *testing.T, r *report) Finding {
	t.Helper()
	switch len(r.findings) {
	case 0:
		return Finding{}
	case 1:
		return r.findings[0]
	}
	t.Fatalf("%+v", r.findings)
	return Finding{}
}

func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		version, major string
		minor          int
		want           Severity
	}{
		{"v1.30.0", "1", 30, ""}, {"v1.37.2", "1", 37, ""}, {"v1.29.9", "1", 29, Error}, {"v1.38.0", "1", 38, Warning}, {"v2.1.0", "2", 31, Warning},
	} {
		r := &report{}
		judgeVersion(r, tt.version, tt.major, tt.minor, true)
		if got := found(t, r); got.Severity != tt.want {
			t.Errorf("%s: %+v, want %q", tt.version, got, tt.want)
		}
	}
}

func TestLatencies(t *testing.T) {
	for median, want := range map[time.Duration]Severity{20 * time.Millisecond: Info, 999 * time.Millisecond: Info, time.Second: Warning} {
		r := &report{}
		judgeLatency(r, "x", median, 2*median, 5)
		if got := found(t, r); got.Severity != want {
			t.Errorf("%s: %+v, want %q", median, got, want)
		}
	}
}

func TestASingleReplicaIsTold(t *testing.T) {
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(1)), Selector: &metav1.LabelSelector{}}, Status: appsv1.DeploymentStatus{ReadyReplicas: 1}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Args: []string{"webhook"}}}
	r := &report{}
	judgeDeployment(r, "x", d, "means")
	if got := found(t, r); got.Severity != Warning || !strings.Contains(got.Message, "single replica") {
		t.Errorf("%+v", got)
	}
	d.Spec.Replicas = ptr.To[int32](0)
	r = &report{}
	judgeDeployment(r, "x", d, "means")
	if got := found(t, r); got.Severity != Error || !strings.Contains(got.Message, "scaled to 0") || !strings.Contains(got.Cure, "--replicas=2") {
		t.Errorf("%+v", got)
	}
	d.Spec.Template.Spec.Containers[0].Args = []string{"--leader-elect"}
	r = &report{}
	judgeDeployment(r, "x", d, "means")
	if got := found(t, r); got.Severity != Error || !strings.Contains(got.Message, "does not run fairlead") {
		t.Errorf("%+v", got)
	}
}

// What replicas serve is looked at by the clock of the doctor.
func TestServedCertificates(t *testing.T) {
	source, err := certs.SelfSigned([]string{"127.0.0.1"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := certs.SelfSigned([]string{"127.0.0.1"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: source.GetCertificate})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	leaf, err := source.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	config := table.Config{Host: address}
	for _, tt := range []struct {
		name, address string
		bundle        []byte
		at            time.Time
		want          Severity
		says          string
	}{
		{"all is well", address, source.Bundle(), time.Now(), "", ""},
		{"not renewed", address, source.Bundle(), leaf.Leaf.NotAfter.Add(-time.Hour), Warning, "expires at"},
		{"expired", address, source.Bundle(), leaf.Leaf.NotAfter.Add(time.Hour), Error, "not trusted"},
		{"another CA", address, other.Bundle(), time.Now(), Error, "not trusted"},
		{"nobody there", "127.0.0.1:1", source.Bundle(), time.Now(), Info, "cannot be reached from here"},
	} {
		d := &Doctor{config: config, now: func() time.Time { return tt.at }, installation: installed(features.New(""))}
		r := &report{}
		d.dial(t.Context(), r, tt.address, tt.bundle)
		if got := found(t, r); got.Severity != tt.want || !strings.Contains(got.Message, tt.says) {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
}

func installed(gates *features.Gates) *terminal.Installation {
	i := &terminal.Installation{Namespace: "kruise-system", Settings: &terminal.Settings{Registers: true, Secret: "kruise-webhook-certs"}}
	i.Settings.Gates = gates
	return i
}

// The authority of a certificate that is due soon is worth a warning.
func TestTheAuthorityIsDue(t *testing.T) {
	source, err := certs.SelfSigned([]string{"x"}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{Data: map[string][]byte{"ca.crt": source.Bundle()}}
	authority := judgeSecret(&report{}, "Secret", "cure", "ca.crt", secret, time.Now())
	if authority == nil {
		t.Fatal("it is not read")
	}
	r := &report{}
	judgeSecret(r, "Secret", "cure", "ca.crt", secret, authority.NotAfter.Add(-24*time.Hour))
	if got := found(t, r); got.Severity != Warning || got.Cure != "cure" {
		t.Errorf("%+v", got)
	}
}

func TestWhatMayNotBeSeenIsNotBroken(t *testing.T) {
	if got := severityOf(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", nil)); got != Info {
		t.Errorf("forbidden: %s", got)
	}
	if got := severityOf(errors.New("x")); got != Error {
		t.Errorf("another: %s", got)
	}
}

func TestPrint(t *testing.T) {
	findings := []Finding{
		{Check: "version", Severity: OK, Message: "the API server's version is supported"},
		{Check: "anchor", Severity: Error, Object: "ValidatingWebhookConfiguration kruise-anchor", Message: "it does not exist", Means: "admission is off", Cure: "helm upgrade"},
	}
	const want = `ok      version         the API server's version is supported
error   anchor          ValidatingWebhookConfiguration kruise-anchor: it does not exist
                        means: admission is off
                        cure:  helm upgrade
1 error, 0 warnings.
`
	var out bytes.Buffer
	Print(terminal.NewText(&out, false), findings)
	if out.String() != want {
		t.Errorf("printed:\n%s", out.String())
	}
	if ExitCode(findings) != 1 || ExitCode(findings[:1]) != 0 || ExitCode([]Finding{{Severity: Warning}}) != 1 || ExitCode([]Finding{{Severity: Info}}) != 0 {
		t.Error("exit codes")
	}
}
