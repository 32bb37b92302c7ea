package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const setsPath = "/apis/apps.kruise.io/v1beta1/sidecarsets"

// apiServer is as much of an API server as a reflector needs for one kind: lists, watches with and without initial
// events, expired versions, and errors on demand.
type apiServer struct {
	mu       sync.Mutex
	revision int
	objects  map[string]string
	events   []event
	changed  chan struct{}
	// floor is the oldest revision from which can be watched.
	floor int
	// streaming allows lists that are streamed by a watch; older servers have only the other ones.
	streaming bool
	refuse    string
	undefined bool
	lists     int
	// held has each list, and the objects that a watch begins with, stop after the first one.
	held chan struct{}
}

type event struct {
	revision     int
	kind, object string
}

func newAPIServer(t *testing.T) (*apiServer, *rest.Config) {
	t.Helper()
	s := &apiServer{objects: make(map[string]string), changed: make(chan struct{}), revision: 10}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return s, &rest.Config{Host: server.URL, QPS: -1}
}

// change applies fn and wakes the watches.
func (s *apiServer) change(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *apiServer) put(name, spec string) {
	s.change(func() {
		s.revision++
		kind := "ADDED"
		if _, exists := s.objects[name]; exists {
			kind = "MODIFIED"
		}
		s.objects[name] = fmt.Sprintf(`{"apiVersion":"apps.kruise.io/v1beta1","kind":"SidecarSet","metadata":{"name":%q,"resourceVersion":"%d"},"spec":%s}`, name, s.revision, spec)
		s.events = append(s.events, event{s.revision, kind, s.objects[name]})
	})
}

func (s *apiServer) remove(name string) {
	s.change(func() {
		s.revision++
		s.events = append(s.events, event{s.revision, "DELETED", s.objects[name]})
		delete(s.objects, name)
	})
}

// forget drops the history, so that every watch has to start with a new list.
func (s *apiServer) forget() {
	s.change(func() { s.events, s.floor = nil, s.revision+1; s.revision++ })
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	refuse, undefined := s.refuse, s.undefined
	s.mu.Unlock()
	query := r.URL.Query()
	switch {
	case r.URL.Path == "/api/v1/namespaces/shop":
		_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"team":"a"}}}`)
	case refuse != "":
		status(w, http.StatusForbidden, "Forbidden", refuse)
	case undefined:
		http.NotFound(w, r) // in plain text, as for every group that is not served
	case r.URL.Path != setsPath:
		status(w, http.StatusNotFound, "NotFound", "not found")
	case query.Get("watch") == "":
		s.list(w)
	case query.Get("sendInitialEvents") == "true" && !s.streaming:
		status(w, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is forbidden")
	default:
		s.watch(w, r)
	}
}

func status(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
}

func (s *apiServer) list(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	_, _ = fmt.Fprintf(w, `{"apiVersion":"apps.kruise.io/v1beta1","kind":"SidecarSetList","metadata":{"resourceVersion":"%d"},"items":[`, s.revision)
	separator := ""
	for _, object := range s.objects {
		_, _ = fmt.Fprint(w, separator+object)
		separator = ","
		s.hold(w)
	}
	_, _ = fmt.Fprint(w, `]}`)
}

// hold waits, if it is to, with what follows.
func (s *apiServer) hold(w http.ResponseWriter) {
	if s.held != nil {
		w.(http.Flusher).Flush()
		<-s.held
	}
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request) {
	var since int
	_, _ = fmt.Sscan(r.URL.Query().Get("resourceVersion"), &since)
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		since = s.initial(w)
	}
	for {
		s.mu.Lock()
		changed := s.changed
		expired := since < s.floor
		for _, e := range s.events {
			if e.revision > since {
				_, _ = fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", e.kind, e.object)
				since = e.revision
			}
		}
		s.mu.Unlock()
		if expired {
			_, _ = fmt.Fprint(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`+"\n")
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

// initial sends all objects and the bookmark that ends them, and returns the revision that they are of.
func (s *apiServer) initial(w http.ResponseWriter) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range s.objects {
		_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", object)
		s.hold(w)
	}
	_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"SidecarSet","apiVersion":"apps.kruise.io/v1beta1","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", s.revision)
	return s.revision
}

// specs are the specs that a sink was told of, by name.
func specs(t *testing.T, w *world) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for name, raw := range w.state() {
		var object struct {
			Spec json.RawMessage `json:"spec"`
		}
		if err := json.Unmarshal([]byte(raw), &object); err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(name, "/")] = string(object.Spec)
	}
	return found
}

// cluster runs a source of SidecarSets and returns a wait for a state.
func cluster(t *testing.T, config *rest.Config) (*Cluster, *world, func(map[string]string)) {
	t.Helper()
	sink := newWorld()
	c, err := NewCluster(config, logr.Discard(), Kind{
		GroupKind: schema.GroupKind{Group: "apps.kruise.io", Kind: "SidecarSet"},
		Resource:  "sidecarsets", Version: "v1beta1", ClusterScoped: true, Sink: sink,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("running: %v", err)
		}
	})
	return c, sink, func(want map[string]string) {
		t.Helper()
		eventually(t, func() string {
			if err := c.Synced(); err != nil {
				return err.Error()
			}
			return cmp.Diff(want, specs(t, sink))
		})
	}
}

// eventually waits until complaint has none.
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

func TestClusterFollowsTheAPIServer(t *testing.T) {
	for name, streaming := range map[string]bool{"lists": false, "streamed lists": true} {
		t.Run(name, func(t *testing.T) {
			server, config := newAPIServer(t)
			server.streaming = streaming
			server.put("one", `{"big":9007199254740993}`)
			server.put("two", `{"n":1.50}`)
			_, sink, wait := cluster(t, config)
			wait(map[string]string{"one": `{"big":9007199254740993}`, "two": `{"n":1.50}`})
			server.put("three", `{}`)
			server.put("one", `{"v":2}`)
			server.remove("two")
			wait(map[string]string{"one": `{"v":2}`, "three": `{}`})
			if server.lists > 0 && streaming {
				t.Error("a list was asked for although the server streams")
			}
			// A watch that cannot go on: what changed meanwhile is found by the next list, and the rest not told again.
			upserts := sink.upserts
			server.change(func() { delete(server.objects, "one") })
			server.forget()
			wait(map[string]string{"three": `{}`})
			server.put("four", `{}`)
			wait(map[string]string{"three": `{}`, "four": `{}`})
			if sink.upserts != upserts+1 {
				t.Errorf("%d upserts after the new list, want 1", sink.upserts-upserts)
			}
		})
	}
}

// Objects are passed on one by one as they come, and not kept until all have come, which may be 10,000 of several KiB.
func TestListsAreNotKept(t *testing.T) {
	for name, streaming := range map[string]bool{"lists": false, "streamed lists": true} {
		t.Run(name, func(t *testing.T) {
			server, config := newAPIServer(t)
			server.streaming, server.held = streaming, make(chan struct{})
			server.put("one", `{}`)
			server.put("two", `{}`)
			c, sink, wait := cluster(t, config)
			eventually(t, func() string {
				if told := len(sink.state()); told != 1 {
					return fmt.Sprintf("%d objects, want the first", told)
				}
				return ""
			})
			if c.Synced() == nil {
				t.Error("a part of a list is taken for all")
			}
			close(server.held)
			wait(map[string]string{"one": `{}`, "two": `{}`})
			if sink.upserts != 2 {
				t.Errorf("%d upserts, want one each", sink.upserts)
			}
		})
	}
}

// What an attempt to list that was given up comes with later is not taken any more.
func TestAnEarlierAttemptIsOver(t *testing.T) {
	sink := newWorld()
	f := newFeed(Kind{Sink: sink}, logr.Discard())
	object := func(version string) *Raw {
		raw, err := newRaw([]byte(`{"apiVersion":"v1","kind":"Thing","metadata":{"name":"one","resourceVersion":"` + version + `"},"spec":` + version + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	first := f.begin()
	second := f.begin()
	f.early(second, object("2"))
	f.early(first, object("1"))
	if diff := cmp.Diff(map[string]string{"one": "2"}, specs(t, sink)); diff != "" {
		t.Error(diff)
	}
}

// Replicas that know the same objects in the same versions say the same, however they came to know them.
func TestRevisionsAreThoseOfTheObjects(t *testing.T) {
	server, config := newAPIServer(t)
	server.put("one", `{"v":1}`)
	early, _, wait := cluster(t, config)
	wait(map[string]string{"one": `{"v":1}`})
	of := func(c *Cluster) uint64 {
		revisions := c.Revisions()
		if len(revisions) != 1 {
			t.Fatalf("revisions %v, want those of one resource", revisions)
		}
		for _, revision := range revisions {
			return revision
		}
		return 0
	}
	first := of(early)
	server.put("two", `{}`)
	wait(map[string]string{"one": `{"v":1}`, "two": `{}`})
	added := of(early)
	server.remove("two")
	wait(map[string]string{"one": `{"v":1}`})
	if first == 0 || added == first || of(early) != first || added >= 1<<48 {
		t.Errorf("revisions with one, two and one object: %d, %d, %d", first, added, of(early))
	}
	server.put("one", `{"v":2}`)
	server.put("three", `{}`)
	want := map[string]string{"one": `{"v":2}`, "three": `{}`}
	wait(want)
	late, _, wait := cluster(t, config)
	wait(want)
	if of(late) != of(early) || of(late) == first {
		t.Errorf("a replica that lists has %d, one that watched %d, and it was %d", of(late), of(early), first)
	}
}

func TestAnUnusableObjectStopsNothing(t *testing.T) {
	server, config := newAPIServer(t)
	server.put("bad", `{"selector":"unusable"}`)
	server.put("good", `{}`)
	_, _, wait := cluster(t, config)
	wait(map[string]string{"good": `{}`})
	server.put("bad", `{"selector":"fine"}`)
	wait(map[string]string{"good": `{}`, "bad": `{"selector":"fine"}`})
}

func TestNotSyncedSaysWhy(t *testing.T) {
	server, config := newAPIServer(t)
	server.refuse = "User \"us\" cannot list sidecarsets"
	c, _, wait := cluster(t, config)
	eventually(t, func() string {
		if err := c.Synced(); err == nil || !strings.Contains(err.Error(), "sidecarsets.apps.kruise.io are not read yet: User \"us\" cannot list") {
			return fmt.Sprint(err)
		}
		return ""
	})
	server.change(func() { server.refuse = "" })
	wait(map[string]string{})
}

// A replica that starts before the definitions are there says which one it waits for, and goes on when it comes.
func TestAMissingDefinitionIsNamed(t *testing.T) {
	server, config := newAPIServer(t)
	server.undefined = true
	server.put("one", `{}`)
	c, _, wait := cluster(t, config)
	eventually(t, func() string {
		const want = "does not serve their version v1beta1: apply the CustomResourceDefinition sidecarsets.apps.kruise.io"
		if err := c.Synced(); err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Sprint(err)
		}
		return ""
	})
	server.change(func() { server.undefined = false })
	wait(map[string]string{"one": `{}`})
	if err := c.Synced(); err != nil {
		t.Error(err)
	}
}

func TestLiveNamespace(t *testing.T) {
	server, config := newAPIServer(t)
	c, err := NewCluster(config, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	labels, found, err := c.LiveNamespace(t.Context(), "shop")
	if diff := cmp.Diff(map[string]string{"team": "a", "kubernetes.io/metadata.name": "shop"}, labels); diff != "" || !found || err != nil {
		t.Errorf("found %v, error %v, labels %s", found, err, diff)
	}
	if _, found, err := c.LiveNamespace(t.Context(), "none"); found || err != nil {
		t.Errorf("a namespace that does not exist: found %v, error %v", found, err)
	}
	server.refuse = "no"
	if _, _, err := c.LiveNamespace(t.Context(), "other"); err == nil || err.Error() != "no" {
		t.Errorf("a refusal gives %v", err)
	}
}
