package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lines are as the API server logs them, without what is not read; the last one is still being written.
const lines = `{"verb":"create","userAgent":"kruise-manager","objectRef":{"resource":"pods","namespace":"ns","name":"a"},"responseStatus":{"code":201},"stageTimestamp":"2026-01-02T03:04:05.000000Z"}
{"verb":"patch","userAgent":"kruise-manager","objectRef":{"resource":"pods","namespace":"ns","name":"a","subresource":"status"},"responseStatus":{"code":200},"stageTimestamp":"2026-01-02T03:04:05.100000Z"}
{"verb":"patch","userAgent":"kruise-manager","objectRef":{"resource":"pods","namespace":"ns","name":"a"},"responseStatus":{"code":409},"stageTimestamp":"2026-01-02T03:04:05.200000Z"}
{"verb":"patch","userAgent":"kruise-manager","objectRef":{"resource":"clonesets","namespace":"ns","name":"web","subresource":"status"},"responseStatus":{"code":200},"stageTimestamp":"2026-01-02T03:04:05.500000Z"}
{"verb":"patch","userAgent":"kubectl","objectRef":{"resource":"pods","namespace":"ns","name":"a"},"responseStatus":{"code":200},"stageTimestamp":"2026-01-02T03:04:05.600000Z"}
{"verb":"create","userAgent":"kruise-manager","objectRef":{"resource":"pods","namespace":"other","name":"b"},"responseStatus":{"code":201},"stageTimestamp":"2026-01-02T03:04:05.700000Z"}
{"verb":"patch","userAgent":"kruise-manager","objectRef":{"resource":"clonesets","namespace":"ns","name":"web","subresource":"status"},"responseStatus":{"code":200},"stageTimestamp":"2026-01-02T03:04:06.400000Z"}
{"verb":"patch","userAgent":"kruise-manager","objectRef":{"resource":"clonesets","namespace":"ns","name":"web","subresource":"status"},"responseStatus":{"code":200},"stageTimestamp":"2026-01-02T03:04:07.500000Z"}
{"verb":"delete","userAgent":"kruise-`

func TestWritesAreReadOnce(t *testing.T) {
	log := &auditLog{path: filepath.Join(t.TempDir(), "audit.log")}
	if err := os.WriteFile(log.path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	writes, refused, err := log.since("ns")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"create pods": 1, "patch pods/status": 1, "patch clonesets/status": 3}
	if diff := cmp.Diff(want, count(writes)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"patch pods 409": 1}, refused); diff != "" {
		t.Error(diff)
	}
	// two after the first in two seconds, and two within 0.9 s
	if perSecond, most := rate(writes); math.Abs(perSecond-1) > 1e-9 || most != 2 {
		t.Errorf("%f a second, at most %d within one", perSecond, most)
	}
	file, err := os.OpenFile(log.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(`manager","objectRef":{"resource":"pods","namespace":"ns","name":"a"},"responseStatus":{"code":200}}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if writes, _, err = log.since("ns"); err != nil || len(writes) != 1 || writes[0].verb != "delete" {
		t.Errorf("then %v, %v", writes, err)
	}
}
