package replica

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2/textlogger"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

func deleteRequest(group, kind, resource, object string) *admission.Request {
	req := &admission.Request{Operation: admission.Delete, OldObject: []byte(object), UserInfo: admission.UserInfo{Username: "someone"}}
	req.Kind.Group, req.Kind.Version, req.Kind.Kind = group, "v1", kind
	req.Resource.Group, req.Resource.Version, req.Resource.Resource = group, "v1", resource
	return req
}

const (
	protectedDeployment = `{"metadata":{"name":"d","namespace":"shop","labels":{"policy.kruise.io/delete-protection":"Always"}}}`
	protectedNamespace  = `{"metadata":{"name":"shop","labels":{"policy.kruise.io/delete-protection":"Cascading"}}}`
	recreateRequest     = `{"metadata":{"name":"r"},"spec":{"podName":"web-0","containers":[{"name":"web"}]}}`
)

func TestDenialsAreTold(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	folder := filepath.Join(t.TempDir(), "log")
	l, err := newLive(t.Context(), Options{
		Gates: features.New(""), ProtectionLogPath: folder, Log: textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))),
	}, registry, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if answer := l.deletion.Handle(t.Context(), deleteRequest("apps", "Deployment", "deployments", protectedDeployment)); answer.Allowed {
		t.Errorf("answer %+v", answer)
	}
	lines, err := os.ReadFile(filepath.Join(folder, "protection.log"))
	if err != nil || !bytes.HasPrefix(lines, []byte(`{"Event":"DeletionProtection","Kind":"Deployment","Namespace":"shop","Name":"d","UserAgent":"someone",`)) {
		t.Errorf("audit log %q, %v", lines, err)
	}
	if !strings.Contains(log.String(), `"Deletion denied" kind="Deployment" object="shop/d" user="someone" protection="Always"`) {
		t.Errorf("log %s", log.String())
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := 0.0
	for _, family := range families {
		if family.GetName() == "workload_deletion_protection" {
			counted = family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	if counted != 1 {
		t.Errorf("counted %v denials", counted)
	}
}

func TestADenialStandsWithoutItsAuditLog(t *testing.T) {
	var log bytes.Buffer
	l, err := newLive(t.Context(), Options{
		Gates: features.New(""), ProtectionLogPath: t.TempDir(), Log: textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))),
	}, prometheus.NewRegistry(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l.close() // what is written now is lost, as on a full disk
	answer := l.deletion.Handle(t.Context(), deleteRequest("apps", "Deployment", "deployments", protectedDeployment))
	if answer.Allowed || answer.Status.Code != http.StatusForbidden || !strings.Contains(log.String(), "Cannot write the audit log") {
		t.Errorf("answer %+v, log %s", answer, log.String())
	}
}

func TestAnAuditLogThatCannotBeOpenedStopsTheReplica(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := newLive(t.Context(), Options{Gates: features.New(""), ProtectionLogPath: file}, prometheus.NewRegistry(), nil)
	if err == nil || !strings.Contains(err.Error(), "--protection-log-path") {
		t.Errorf("error %v", err)
	}
}

// What cannot be known without a cluster is no reason to give an object up, nor a verdict on a request to restart.
func TestLiveWithoutACluster(t *testing.T) {
	gates := features.New("")
	l, err := newLive(t.Context(), Options{Gates: gates}, prometheus.NewRegistry(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer := l.deletion.Handle(t.Context(), deleteRequest("", "Namespace", "namespaces", protectedNamespace))
	if answer.Allowed || answer.Fault != 0 || !strings.Contains(answer.Status.Message, "without a cluster") {
		t.Errorf("answer %+v %+v", answer, answer.Status)
	}
	create := &admission.Request{Operation: admission.Create, Namespace: "shop", Object: []byte(recreateRequest)}
	if answer := l.containerRecreate.Handle(t.Context(), create); answer.Fault != http.StatusInternalServerError {
		t.Errorf("answer %+v %+v", answer, answer.Status)
	}
	if err := gates.Set("KruiseDaemon=false"); err != nil {
		t.Fatal(err)
	}
	if l, err = newLive(t.Context(), Options{Gates: gates}, prometheus.NewRegistry(), nil); err != nil {
		t.Fatal(err)
	}
	if answer := l.containerRecreate.Handle(t.Context(), create); answer.Fault != 0 || answer.Status.Code != http.StatusForbidden {
		t.Errorf("without daemons: %+v %+v", answer, answer.Status)
	}
	for _, err := range []error{errOf(offline{}.NodeLabels(t.Context(), "n")), errOf(offline{}.BoundClaims(t.Context(), "n"))} {
		if !errors.Is(err, errOffline) {
			t.Errorf("error %v", err)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }
