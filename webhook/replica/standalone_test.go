package replica

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/test/addresses"
)

const (
	sidecarSet = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: agents}
spec:
  selector: {matchLabels: {app: web}}
  namespaceSelector: {matchLabels: {team: a}}
  containers:
  - {name: agent, image: "bank.test/tool:v1", podInjectPolicy: AfterAppContainer}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
`
	pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","labels":{"app":"web"}},
		"spec":{"containers":[{"name":"web","image":"bank.test/web:v1"}],"future":9007199254740993}}`
	podReview = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",
		"resource":{"group":"","version":"v1","resource":"pods"},"namespace":"shop","operation":"CREATE","object":` + pod + `}}`
)

// alone is a running replica without a cluster.
type alone struct {
	Standalone
	client *http.Client
	access bytes.Buffer
	stop   func() error
}

// startAlone serves files until the test ends.
func startAlone(t *testing.T, files map[string]string, change ...func(*Standalone)) *alone {
	t.Helper()
	dir := t.TempDir()
	a := &alone{Standalone: Standalone{
		Objects: filepath.Join(dir, "objects"), CertOut: filepath.Join(dir, "ca.crt"),
		Options: Options{
			BindAddress: addresses.Free(t, addresses.Loopback), Gates: features.New(""), Log: logr.Discard(), ShutdownGrace: 5 * time.Second, Version: "v1.2.3",
		},
	}}
	a.AccessLog = &a.access
	for _, f := range change {
		f(&a.Standalone)
	}
	if err := os.Mkdir(a.Objects, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		a.write(t, name, content)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	a.stop = func() error { cancel(); err := <-done; done <- nil; return err }
	t.Cleanup(func() {
		if err := a.stop(); err != nil {
			t.Errorf("running: %v", err)
		}
	})
	a.connect(t)
	return a
}

func (a *alone) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(a.Objects, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// connect waits until the replica is ready, with a client that trusts the CA that it wrote and nothing else.
func (a *alone) connect(t *testing.T) {
	t.Helper()
	eventually(t, func() string {
		ca, err := os.ReadFile(a.CertOut)
		if err != nil {
			return err.Error()
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		a.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: 10 * time.Second}
		return a.get("/readyz", "ok\n")
	})
	t.Cleanup(a.client.CloseIdleConnections)
}

func eventually(t *testing.T, complaint func() string) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if last = complaint(); last == "" {
			return
		}
	}
	t.Fatalf("still: %s", last)
}

// get says how a page differs from one that contains want.
func (a *alone) get(path, want string) string {
	resp, err := a.client.Get("https://" + a.BindAddress + path)
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
		return resp.Status + " " + string(body)
	}
	return ""
}

// containers are the containers that the Pod of podReview has after admission.
func (a *alone) containers(t *testing.T) []string {
	t.Helper()
	resp, err := a.client.Post("https://"+a.BindAddress+"/mutate-pod?timeout=5s", "application/json", strings.NewReader(podReview))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(resp.Body).Decode(&review); err != nil || !review.Response.Allowed {
		t.Fatalf("HTTP %s, %v: %+v", resp.Status, err, review.Response)
	}
	patched := []byte(pod)
	if review.Response.Patch != nil {
		patch, err := jsonpatch.DecodePatch(review.Response.Patch)
		if err != nil {
			t.Fatal(err)
		}
		if patched, err = patch.Apply(patched); err != nil {
			t.Fatal(err)
		}
	}
	var result struct {
		Spec struct{ Containers []struct{ Name string } }
	}
	if err := json.Unmarshal(patched, &result); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range result.Spec.Containers {
		names = append(names, c.Name)
	}
	return names
}

func (a *alone) expectContainers(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, func() string { return cmp.Diff(want, a.containers(t)) })
}

func TestStandalone(t *testing.T) {
	a := startAlone(t, map[string]string{"a.yaml": sidecarSet})
	if diff := cmp.Diff([]string{"web", "agent"}, a.containers(t)); diff != "" {
		t.Errorf("the first request after readiness: %s", diff)
	}
	for path, want := range map[string]string{
		"/healthz":  "ok",
		"/webhooks": `"mpod.kb.io"`,
		"/metrics":  `fairlead_build_info{goversion="go1`,
	} {
		if complaint := a.get(path, want); complaint != "" {
			t.Errorf("%s: %s", path, complaint)
		}
	}
	for _, metric := range []string{"fairlead_sidecarset_injections_total 1", "fairlead_sidecarset_injected_containers_total 1", "fairlead_sidecarsets 1", "fairlead_sidecarsets_failing 0"} {
		if complaint := a.get("/metrics", metric); complaint != "" {
			t.Errorf("/metrics lacks %s", metric)
		}
	}
	a.write(t, "a.yaml", strings.Replace(sidecarSet, "name: agent,", "name: renamed,", 1))
	a.expectContainers(t, "web", "renamed")
	a.write(t, "a.yaml", "neither: [yaml")
	a.write(t, "b.yaml", strings.NewReplacer("agents", "more", "name: agent,", "name: another,").Replace(sidecarSet))
	a.expectContainers(t, "web", "renamed", "another")
	if err := os.Remove(filepath.Join(a.Objects, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	a.expectContainers(t, "web", "another")
	a.write(t, "b.yaml", strings.Replace(sidecarSet, "labels: {team: a}", "labels: {team: b}", 1))
	a.expectContainers(t, "web")
	if err := a.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if lines := strings.Count(a.access.String(), `"decision":"mutated"`); lines == 0 || strings.Contains(a.access.String(), "bank.test") {
		t.Errorf("%d lines in the access log: %s", lines, a.access.String())
	}
}

func TestGatesSwitchWebhooks(t *testing.T) {
	a := startAlone(t, nil, func(s *Standalone) {
		if err := s.Gates.Set("PodWebhook=false"); err != nil {
			t.Fatal(err)
		}
	})
	if complaint := a.get("/webhooks", `"msidecarset.kb.io"`); complaint != "" {
		t.Error(complaint)
	}
	if a.get("/webhooks", `"mpod.kb.io"`) == "" {
		t.Error("mpod.kb.io is served although its gate is off")
	}
}

func TestPortsOfTheirOwn(t *testing.T) {
	a := startAlone(t, nil, func(s *Standalone) {
		s.MetricsAddr, s.HealthAddr = addresses.Free(t, addresses.Loopback), addresses.Free(t, addresses.Loopback)
	})
	plain := &http.Client{Timeout: 10 * time.Second}
	for url, want := range map[string]string{
		"http://" + a.HealthAddr + "/readyz?verbose": "[+] objects\n[+] certificate\n[+] serving\n",
		"http://" + a.HealthAddr + "/healthz":        "ok\n",
		"http://" + a.MetricsAddr + "/metrics":       "process_resident_memory_bytes",
	} {
		resp, err := plain.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %s", url, resp.Status, body)
		}
	}
}

func TestStartsThatFailSayWhatToChange(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for name, tt := range map[string]struct {
		change func(*Standalone)
		want   []string
	}{
		"a taken port":         {func(s *Standalone) { s.BindAddress = taken.Addr().String() }, []string{"address already in use", "--bind-address"}},
		"a taken metrics port": {func(s *Standalone) { s.MetricsAddr = taken.Addr().String() }, []string{"listening for metrics", "--metrics-addr"}},
		"no address":           {func(s *Standalone) { s.HealthAddr = "nonsense" }, []string{"missing port", "--health-probe-addr"}},
		"no objects":           {func(s *Standalone) { s.Objects = "" }, []string{"--objects"}},
		"no such directory":    {func(s *Standalone) { s.Objects = "/does/not/exist" }, []string{"reading the object directory", "/does/not/exist"}},
		"no place for the CA":  {func(s *Standalone) { s.CertOut = "/does/not/exist/ca.crt" }, []string{"/does/not/exist/ca.crt", "--tls-cert-out"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Standalone{Objects: t.TempDir(), Options: Options{
				BindAddress: addresses.Free(t, addresses.Loopback), Gates: features.New(""), Log: logr.Discard(), AccessLog: io.Discard,
			}}
			tt.change(&s)
			err := s.Run(t.Context())
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
			if name != "a taken port" { // nothing is left behind
				l, err := net.Listen("tcp", s.BindAddress)
				if err != nil {
					t.Fatalf("the port is still held: %v", err)
				}
				_ = l.Close()
			}
		})
	}
}

func TestLocalHosts(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:9443": "", "localhost:9443": "", ":9443": "", "0.0.0.0:9443": "", "[::]:1": "",
		"192.0.2.7:9443": "192.0.2.7", "box.example.com:9443": "box.example.com",
	} {
		hosts := localHosts(address)
		if extra := strings.Join(hosts[3:], ","); extra != want {
			t.Errorf("%s adds %q, want %q", address, extra, want)
		}
	}
}
