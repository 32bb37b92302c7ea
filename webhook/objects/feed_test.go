package objects

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// A replica that was ready without a kind stays ready when the API server goes: it serves from what it knows.
func TestAnOptionalKindThatIsNotThere(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Group: "policy.kruise.io", Resource: "podunavailablebudgets"}, "")
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		optional bool
		failures []error
		ready    bool
	}{
		"not asked yet":              {optional: true},
		"not installed":              {optional: true, failures: []error{missing}, ready: true},
		"not installed, then away":   {optional: true, failures: []error{missing, away}, ready: true},
		"away from the start":        {optional: true, failures: []error{away}},
		"needed, and not installed":  {failures: []error{missing}},
		"needed, missing, then away": {failures: []error{missing, away}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed(Kind{Resource: "podunavailablebudgets", Optional: c.optional}, klog.Background())
			for _, err := range c.failures {
				f.failed(err)
			}
			if err := f.synced(); (err == nil) != c.ready {
				t.Errorf("synced says %v", err)
			}
		})
	}
}

// TestAMissingKindIsToldOnce has a cluster without an optional kind, which is installed after a while and goes again.
func TestAMissingKindIsToldOnce(t *testing.T) {
	var installed, away atomic.Bool
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case away.Load():
			w.WriteHeader(http.StatusInternalServerError)
		case !installed.Load():
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		case r.URL.Query().Get("watch") != "":
			// It ends at once, so that the reflector asks again.
		default:
			_, _ = io.WriteString(w, `{"kind":"PodUnavailableBudgetList","apiVersion":"policy.kruise.io/v1beta1","metadata":{"resourceVersion":"1"},"items":[]}`)
		}
	}))
	defer server.Close()
	var mu sync.Mutex
	var told []string
	log := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, args)
	}, funcr.Options{})
	lines := func(having string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range told {
			if strings.Contains(line, having) {
				n++
			}
		}
		return n
	}
	c, err := NewCluster(&rest.Config{Host: server.URL}, log, Kind{Resource: "podunavailablebudgets", Version: "v1beta1", Optional: true, Sink: newWorld()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	until := func(what string, holds func() bool) {
		t.Helper()
		eventually(t, func() string {
			if holds() {
				return ""
			}
			return what
		})
	}
	until("asked again", func() bool { return asked.Load() > 3 })
	if missing, failures := lines("is not installed"), lines(`"error"=`); missing != 1 || failures != 0 {
		t.Errorf("told %d times that it is missing, and of %d errors; want once, and none: %q", missing, failures, told)
	}
	installed.Store(true)
	until("told that it is installed", func() bool { return lines("is installed now") == 1 })
	installed.Store(false)
	until("told that it is gone", func() bool { return lines("is not installed") == 2 })
	away.Store(true)
	until("told that the API server is away", func() bool { return lines(`"error"=`) > 0 })
}

// Of a kind that is not ours nobody is told to apply our definition.
func TestAForeignKindThatIsNotServed(t *testing.T) {
	for foreign, want := range map[bool]bool{false: true, true: false} {
		f := newFeed(Kind{GroupKind: schema.GroupKind{Group: "example.com"}, Resource: "things", Version: "v1", Foreign: foreign}, klog.Background())
		f.failed(apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "things"}, ""))
		err := f.synced()
		if err == nil || strings.Contains(err.Error(), "of this release") != want || !strings.Contains(err.Error(), "does not serve their version v1") {
			t.Errorf("foreign %v: %v", foreign, err)
		}
	}
}
