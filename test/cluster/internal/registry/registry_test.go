package registry

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/fairlead-io/fairlead/internal/oci"
	"github.com/fairlead-io/fairlead/test/cluster/images"
)

func TestNameByHost(t *testing.T) {
	for in, want := range map[string]string{
		"/v2/web/manifests/v1?ns=bank.test":           "/v2/bank.test/web/manifests/v1",
		"/v2/a/b/blobs/sha256:0?ns=host.test:5001":    "/v2/host.test_5001/a/b/blobs/sha256:0",
		"/v2/library/nginx/manifests/1?ns=docker.io":  "/v2/index.docker.io/library/nginx/manifests/1",
		"/v2/bank.test/web/manifests/v1":              "/v2/bank.test/web/manifests/v1",
		"/v2/?ns=bank.test":                           "/v2/",
		"/v2/manifests/manifests/v1?ns=bank.test":     "/v2/bank.test/manifests/manifests/v1",
		"/v2/web/blobs/uploads/12345678?ns=bank.test": "/v2/bank.test/web/blobs/uploads/12345678",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		nameByHost(u)
		if u.Path != want {
			t.Errorf("%s becomes %s, want %s", in, u.Path, want)
		}
	}
}

func start(t *testing.T, dir string, log io.Writer) *httptest.Server {
	t.Helper()
	h, err := newHandler(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, server *httptest.Server, path string) (status int, body string) {
	t.Helper()
	resp, err := server.Client().Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// What was pushed is there for the node that asks for it by host, and still after a restart.
func TestImagesSurviveARestart(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	img, err := oci.Build(oci.Spec{Files: map[string]string{"/program": program}, Entrypoint: []string{"/program"}})
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img})
	want, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var log bytes.Buffer
	first := start(t, dir, &log)
	address := strings.TrimPrefix(first.URL, "http://")
	if err := images.Push(t.Context(), address, img, "bank.test/web:v1", "other.test:5000/web:v1"); err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(address+"/bank.test/many:v1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir, &log)
	for _, server := range []*httptest.Server{first, second} {
		for path, status := range map[string]int{
			"/v2/web/manifests/v1?ns=bank.test":                                 http.StatusOK,
			"/v2/web/manifests/" + want.String() + "?ns=bank.test":              http.StatusOK,
			"/v2/web/manifests/v1?ns=other.test:5000":                           http.StatusOK,
			"/v2/many/manifests/v1?ns=bank.test":                                http.StatusOK,
			"/v2/web/manifests/v2?ns=bank.test":                                 http.StatusNotFound,
			"/v2/web/manifests/v1?ns=third.test":                                http.StatusNotFound,
			"/v2/web/blobs/sha256:" + strings.Repeat("0", 64) + "?ns=bank.test": http.StatusNotFound,
		} {
			if got, body := get(t, server, path); got != status {
				t.Errorf("%s answers %d (%s), want %d", path, got, body, status)
			}
		}
	}
	second.Close() // waits for what is still being written to the log
	first.Close()
	if !strings.Contains(log.String(), "GET /v2/third.test/web/manifests/v1 404") {
		t.Errorf("the access log lacks a request:\n%s", log.String())
	}
}
