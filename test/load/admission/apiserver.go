package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/test/load/reviews"
)

// apiServer plays as much of an API server as a replica needs that captures containers: it keeps the Secret with the CA,
// has no SidecarSets, Namespaces and revisions, and knows the Pod and its node. It counts how often these two are read.
type apiServer struct {
	*httptest.Server
	pod, node []byte
	reads     atomic.Int64

	mu         sync.Mutex
	secret     []byte
	secretType string
}

func newAPIServer() *apiServer {
	a := &apiServer{pod: reviews.RunningPod(), node: reviews.Node()}
	a.Server = httptest.NewUnstartedServer(a)
	a.EnableHTTP2 = true // as the real one: all requests of a client share a connection
	a.StartTLS()
	return a
}

// kubeconfig writes how to reach it into a file.
func (a *apiServer) kubeconfig(path string) error {
	return os.WriteFile(path, encode(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": a.URL, "insecure-skip-tls-verify": true}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": ""}}},
	}), 0o600)
}

// ServeHTTP implements http.Handler.
func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/api/v1/namespaces/shop/pods/web-0":
		a.reads.Add(1)
		writeObject(w, http.StatusOK, a.pod)
	case path == "/api/v1/nodes/n1":
		a.reads.Add(1)
		writeObject(w, http.StatusOK, a.node)
	case strings.HasSuffix(path, "/secrets") && r.Method == http.MethodPost:
		a.keep(w, r)
	case strings.HasSuffix(path, "/secrets/kruise-webhook-certs"):
		a.give(w)
	case r.URL.Query().Get("sendInitialEvents") != "":
		refuse(w, http.StatusBadRequest, "BadRequest") // the client lists instead
	case r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		writeObject(w, http.StatusOK, []byte(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`))
	}
}

func (a *apiServer) keep(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.secret, _ = io.ReadAll(r.Body) // what did not arrive will not be understood
	a.secretType = r.Header.Get("Content-Type")
	a.mu.Unlock()
	a.give(w)
}

func (a *apiServer) give(w http.ResponseWriter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.secret == nil {
		refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	w.Header().Set("Content-Type", a.secretType)
	_, _ = w.Write(a.secret)
}

func refuse(w http.ResponseWriter, code int, reason string) {
	writeObject(w, code, encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
	}))
}

func writeObject(w http.ResponseWriter, code int, object []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(object) // a client that has gone is no concern of ours
}

// encode is an object of ours as JSON, which every one can be.
func encode(object any) []byte {
	encoded, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return encoded
}
