package objects

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// revisionKind is narrowed to a namespace and a label.
var revisionKind = Kind{
	GroupKind: schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}, Resource: "controllerrevisions", Version: "v1",
	Namespace: "ours", Selector: "of",
}

// asked is an API server with one object, r-1, that remembers what it was asked.
type asked struct {
	mu       sync.Mutex
	requests []string
	refuse   bool
}

const storedRevision = `{"metadata":{"name":"r-1","namespace":"ours","resourceVersion":"7"},"data":9007199254740993}`

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests = append(a.requests, r.URL.Path+" "+r.URL.Query().Get("labelSelector"))
	refuse := a.refuse
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	const list = "/apis/apps/v1/namespaces/ours/controllerrevisions"
	switch {
	case refuse:
		status(w, http.StatusForbidden, "Forbidden", "no")
	case r.URL.Query().Get("watch") != "":
		status(w, http.StatusUnprocessableEntity, "Invalid", "watches are not served")
	case r.URL.Path == list+"/r-1":
		_, _ = fmt.Fprint(w, storedRevision)
	case r.URL.Path == list:
		_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"},"items":[%s]}`, storedRevision)
	default:
		status(w, http.StatusNotFound, "NotFound", "not found")
	}
}

func (a *asked) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

func newAsked(t *testing.T, kinds ...Kind) (*asked, *Cluster) {
	t.Helper()
	a := &asked{}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	c, err := NewCluster(&rest.Config{Host: server.URL, QPS: -1}, logr.Discard(), kinds...)
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

func TestLiveObject(t *testing.T) {
	a, c := newAsked(t)
	raw, found, err := c.LiveObject(t.Context(), revisionKind, "r-1")
	if string(raw) != storedRevision || !found || err != nil {
		t.Errorf("found %v, error %v, object %s", found, err, raw)
	}
	if _, found, err := c.LiveObject(t.Context(), revisionKind, "r-2"); found || err != nil {
		t.Errorf("an object that does not exist: found %v, error %v", found, err)
	}
	a.refuse = true
	if _, found, err := c.LiveObject(t.Context(), revisionKind, "r-1"); found || err == nil || err.Error() != "no" {
		t.Errorf("a refusal: found %v, error %v", found, err)
	}
}

func TestLiveObjects(t *testing.T) {
	a, c := newAsked(t)
	items, err := c.LiveObjects(t.Context(), revisionKind, labels.Set{"of": "x", "at": "v1"})
	if len(items) != 1 || string(items[0]) != storedRevision || err != nil {
		t.Errorf("error %v, objects %s", err, items)
	}
	want := []string{"/apis/apps/v1/namespaces/ours/controllerrevisions at=v1,of=x"}
	if diff := cmp.Diff(want, a.all()); diff != "" {
		t.Errorf("requests: %s", diff)
	}
	a.refuse = true
	if _, err := c.LiveObjects(t.Context(), revisionKind, nil); err == nil || err.Error() != "no" {
		t.Errorf("a refusal gives %v", err)
	}
}

// A narrowed kind asks for nothing else: neither may we read it, nor do we want to hold it.
func TestNarrowedKindsAskForTheirsOnly(t *testing.T) {
	sink := newWorld()
	kind := revisionKind
	kind.Sink = sink
	a, c := newAsked(t, kind)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	eventually(t, func() string { return cmp.Diff(map[string]string{"ours/r-1": storedRevision}, sink.state()) })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, request := range a.all() {
		if request != "/apis/apps/v1/namespaces/ours/controllerrevisions of" {
			t.Errorf("request %q", request)
		}
	}
}
