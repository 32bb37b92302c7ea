// Package registry is the image registry of a test cluster. It stands for every registry host at once, keeps
// blobs and manifests on disk, and so still has them after it is restarted.
package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/fairlead-io/fairlead/test/cluster/images"
)

// Serve runs the registry on address until ctx ends. Everything it keeps is below dir, and each request is
// a line on accessLog: method, path, status.
func Serve(ctx context.Context, address, dir string, accessLog io.Writer) error {
	handler, err := newHandler(dir, accessLog)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listening for image pulls: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving images: %w", err)
	}
	return nil
}

// newHandler puts together: names by host, manifests on disk, the library's registry.
func newHandler(dir string, accessLog io.Writer) (http.Handler, error) {
	blobs, manifests := filepath.Join(dir, "blobs"), filepath.Join(dir, "manifests")
	for _, d := range []string{blobs, manifests} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("making the registry's folder: %w", err)
		}
	}
	library := registry.New(
		registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs)),
		registry.Logger(log.New(io.Discard, "", 0)),
	)
	if err := replay(library, manifests); err != nil {
		return nil, err
	}
	access := log.New(accessLog, "", log.LstdFlags)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		if admitted(dir, recorder, r) {
			nameByHost(r.URL)
			serveAndKeep(library, manifests, recorder, r)
		}
		access.Printf("%s %s %d", r.Method, r.URL.Path, recorder.status)
	}), nil
}

var v2Path = regexp.MustCompile(`^/v2/(.+)/(manifests|blobs|tags|referrers)/(.+)$`)

// nameByHost puts the registry host that a node really wants, which containerd tells a mirror as the query ns,
// before the repository's name, as images.Push does.
func nameByHost(u *url.URL) {
	host := u.Query().Get("ns")
	m := v2Path.FindStringSubmatch(u.Path)
	if host == "" || m == nil {
		return
	}
	u.Path = "/v2/" + images.Repository(indexHost(host), m[1]) + "/" + m[2] + "/" + m[3]
}

// indexHost is the host as image references have it: docker.io is how containerd names Docker's registry.
func indexHost(host string) string {
	if host == "docker.io" || host == "registry-1.docker.io" {
		return "index.docker.io"
	}
	return host
}

// serveAndKeep answers a request, and first writes a manifest to a file of its own, which replay reads: the
// library keeps manifests in memory only. One that the library then refuses is refused again by replay.
func serveAndKeep(library http.Handler, dir string, w *statusRecorder, r *http.Request) {
	m := v2Path.FindStringSubmatch(r.URL.Path)
	if r.Method != http.MethodPut || m == nil || m[2] != "manifests" {
		library.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "reading the manifest: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := keep(dir, r.URL.Path, r.Header.Get("Content-Type"), body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	library.ServeHTTP(w, r)
}

// keep writes one manifest: a line with its media type, then the body, in a file named by the escaped path.
func keep(dir, path, mediaType string, body []byte) error {
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return fmt.Errorf("keeping the manifest: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when all went well
	_, err = tmp.Write(append([]byte(mediaType+"\n"), body...))
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("keeping the manifest: %w", err)
	}
	if err := os.Rename(tmp.Name(), filepath.Join(dir, url.PathEscape(path))); err != nil {
		return fmt.Errorf("keeping the manifest: %w", err)
	}
	return nil
}

// replay gives the kept manifests to the library. Images come before the indexes that name them by chance of
// order only, so what is refused is tried again as long as anything is accepted.
func replay(library http.Handler, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the kept manifests: %w", err)
	}
	var waiting []string
	for _, e := range entries {
		if e.Name()[0] != '.' {
			waiting = append(waiting, e.Name())
		}
	}
	for progress := true; progress && len(waiting) > 0; {
		var refused []string
		for _, file := range waiting {
			ok, err := replayOne(library, dir, file)
			if err != nil {
				return err
			}
			if !ok {
				refused = append(refused, file)
			}
		}
		progress = len(refused) < len(waiting)
		waiting = refused
	}
	return nil
}

func replayOne(library http.Handler, dir, file string) (accepted bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return false, fmt.Errorf("reading a kept manifest: %w", err)
	}
	path, err := url.PathUnescape(file)
	if err != nil {
		return false, fmt.Errorf("reading the name of a kept manifest: %w", err)
	}
	mediaType, body, _ := bytes.Cut(data, []byte("\n"))
	r := httptest.NewRequest(http.MethodPut, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", string(mediaType))
	w := httptest.NewRecorder()
	library.ServeHTTP(w, r)
	return w.Code == http.StatusCreated, nil
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(code int) {
	s.status = code
	s.ResponseWriter.WriteHeader(code)
}
