package deletion

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
)

func denial(group, kind, mode string) Denial {
	return Denial{
		Kind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Namespace: "shop", Name: "o", UID: "u-1",
		User: "someone", Mode: mode, Why: "replicas 1>0",
	}
}

func TestMetricsNameNobody(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := NewMetrics(registry)
	for _, d := range []Denial{
		denial("", "Namespace", Cascading), denial("", "Namespace", Cascading), denial("apiextensions.k8s.io", "CustomResourceDefinition", Always),
		denial("apps", "Deployment", Always), denial("apps.kruise.io", "CloneSet", Cascading), denial("", "Service", Always),
	} {
		m.Denied(d)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			line := []string{family.GetName()}
			for _, label := range metric.GetLabel() {
				line = append(line, label.GetName()+"="+label.GetValue())
			}
			got = append(got, fmt.Sprintf("%s: %v", strings.Join(line, " "), metric.GetCounter().GetValue()))
		}
	}
	want := []string{
		"crd_deletion_protection mode=Always: 1",
		"crd_deletion_protection mode=Cascading: 0",
		"namespace_deletion_protection mode=Always: 0",
		"namespace_deletion_protection mode=Cascading: 2",
		"workload_deletion_protection kind=CloneSet mode=Cascading: 1",
		"workload_deletion_protection kind=Deployment mode=Always: 1",
		"workload_deletion_protection kind=Service mode=Always: 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.FixedZone("", 3600))

func TestLog(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made", "for", "it")
	for range 2 { // a service that starts again appends
		log, err := OpenLog(folder, func() time.Time { return noon })
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Denied(denial("apps", "Deployment", Always)); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const line = `{"Event":"DeletionProtection","Kind":"Deployment","Namespace":"shop","Name":"o","UserAgent":"someone","Time":"2026-01-02T11:00:00Z"}` + "\n"
	if diff := cmp.Diff(line+line, read(t, filepath.Join(folder, "protection.log"))); diff != "" {
		t.Error(diff)
	}
}

func TestALogThatCannotBeOpened(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "protection.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(folder, time.Now); err == nil || !strings.Contains(err.Error(), "opening the audit log") {
		t.Errorf("a folder in the log's place gives %v", err)
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(file, time.Now); err == nil {
		t.Error("a file in the folder's place was accepted")
	}
}

// The log must not fill its volume, whatever clients do.
func TestTheLogIsBounded(t *testing.T) {
	folder := t.TempDir()
	log, err := OpenLog(folder, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	log.maxSize = 300 // two lines of some 130 bytes
	names := []string{"a", "b", "c", "d", "e"}
	for _, name := range names {
		d := denial("apps", "Deployment", Always)
		d.Name = name
		if err := log.Denied(d); err != nil {
			t.Fatal(err)
		}
	}
	var got [2][]string
	for i, file := range []string{"protection.log.1", "protection.log"} {
		for text := range strings.Lines(read(t, filepath.Join(folder, file))) {
			var line struct{ Name string }
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
			got[i] = append(got[i], line.Name)
		}
	}
	if diff := cmp.Diff([2][]string{{"c", "d"}, {"e"}}, got); diff != "" {
		t.Errorf("old and new (-want +got):\n%s", diff)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestEvents(t *testing.T) {
	client := fake.NewClientset()
	events := NewEvents(t.Context(), client.CoreV1(), "kruise-webhook")
	for i := range 100 { // all at once
		d := denial("apps", "Deployment", Cascading)
		d.UID += string(rune('a' + i)) // 100 objects, so that nothing but our own bound holds them back
		events.Denied(d)
	}
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		list, err := client.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) >= eventBurst {
			time.Sleep(100 * time.Millisecond) // for those that should not come
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	list, err := client.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(list.Items); n < eventBurst || n > eventBurst+5 {
		t.Errorf("%d events, want %d and at most some more", n, eventBurst)
	}
	got := list.Items[0]
	want := corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "o"}
	got.InvolvedObject.UID = ""
	if diff := cmp.Diff(want, got.InvolvedObject); diff != "" {
		t.Error(diff)
	}
	const message = "Deletion denied: the label policy.kruise.io/delete-protection=Cascading protects this Deployment: replicas 1>0"
	if got.Type != "Warning" || got.Reason != "DeletionDenied" || got.Message != message || got.Source.Component != "kruise-webhook" {
		t.Errorf("event %+v", got)
	}
}
