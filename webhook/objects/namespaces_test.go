package objects

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

func namespace(name, labels string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q,"labels":{%s}}}`, name, labels)
}

// expectLabels checks a lookup; nil means that the namespace does not exist.
func expectLabels(t *testing.T, n *Namespaces, name string, want map[string]string) {
	t.Helper()
	got, found, err := n.Labels(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || found != (want != nil) {
		t.Errorf("namespace %s, found %v (-want +got):\n%s", name, found, diff)
	}
}

func TestNamespacesOfASource(t *testing.T) {
	n := NewNamespaces(nil, clock.RealClock{})
	expectLabels(t, n, "shop", nil)
	for _, raw := range [][]byte{
		namespace("shop", `"team":"a"`),
		namespace("plain", ``),
		[]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"bare"}}`),
		namespace("wrong", `"kubernetes.io/metadata.name":"other"`),
	} {
		if err := n.Upsert(raw); err != nil {
			t.Fatal(err)
		}
	}
	expectLabels(t, n, "shop", map[string]string{"team": "a", "kubernetes.io/metadata.name": "shop"})
	expectLabels(t, n, "plain", map[string]string{"kubernetes.io/metadata.name": "plain"})
	expectLabels(t, n, "bare", map[string]string{"kubernetes.io/metadata.name": "bare"})
	expectLabels(t, n, "wrong", map[string]string{"kubernetes.io/metadata.name": "wrong"})
	if err := n.Upsert(namespace("shop", `"team":"b"`)); err != nil {
		t.Fatal(err)
	}
	expectLabels(t, n, "shop", map[string]string{"team": "b", "kubernetes.io/metadata.name": "shop"})
	n.Delete("", "shop")
	expectLabels(t, n, "shop", nil)
	if err := n.Upsert([]byte(`{"metadata":{"labels":{"a":1}}}`)); err == nil || !strings.Contains(err.Error(), "/metadata/labels/a") {
		t.Errorf("labels that are no strings: %v", err)
	}
}

// api stands in for the API server's namespaces and counts the reads.
type api struct {
	labels map[string]map[string]string
	err    error
	delay  time.Duration
	reads  int
}

func (a *api) read(ctx context.Context, name string) (map[string]string, bool, error) {
	a.reads++
	select {
	case <-time.After(a.delay):
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	labels, found := a.labels[name]
	return labels, found, a.err
}

func TestAnUnknownNamespaceIsReadLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &api{labels: map[string]map[string]string{"new": {"team": "a"}}}
		n := NewNamespaces(server.read, clock.RealClock{})
		for range 3 {
			expectLabels(t, n, "new", map[string]string{"team": "a"})
			expectLabels(t, n, "none", nil)
		}
		if server.reads != 2 {
			t.Errorf("%d reads for two namespaces within a second, want 2", server.reads)
		}
		time.Sleep(1100 * time.Millisecond)
		server.labels["none"] = map[string]string{"late": "yes"}
		expectLabels(t, n, "none", map[string]string{"late": "yes"})
		// What the watch says counts at once.
		if err := n.Upsert(namespace("none", `"late":"no","kubernetes.io/metadata.name":"none"`)); err != nil {
			t.Fatal(err)
		}
		expectLabels(t, n, "none", map[string]string{"late": "no", "kubernetes.io/metadata.name": "none"})
		reads := server.reads
		n.Delete("", "none")
		delete(server.labels, "none")
		expectLabels(t, n, "none", nil)
		if server.reads != reads+1 {
			t.Error("a deleted namespace is answered from before its deletion")
		}
		expectLabels(t, n, "", nil)
		if server.reads != reads+1 {
			t.Error("no name at all was looked up")
		}
	})
}

func TestOneReadServesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &api{labels: map[string]map[string]string{"new": {"team": "a"}}, delay: time.Second}
		n := NewNamespaces(server.read, clock.RealClock{})
		first, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() {
			_, _, err := n.Labels(first, "new")
			gaveUp <- err
		}()
		synctest.Wait()
		results := make(chan error, 20)
		for range cap(results) {
			go func() {
				labels, found, err := n.Labels(t.Context(), "new")
				if err == nil && (!found || labels["team"] != "a") {
					err = fmt.Errorf("found %v, labels %v", found, labels)
				}
				results <- err
			}()
		}
		synctest.Wait()
		cancel() // the request that began the read goes; the others still get their answer
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("the request that gave up got %v", err)
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if server.reads != 1 {
			t.Errorf("%d reads, want 1", server.reads)
		}
	})
}

func TestAnAPIServerThatCannotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &api{err: errors.New("etcd is down")}
		n := NewNamespaces(server.read, clock.RealClock{})
		if _, _, err := n.Labels(t.Context(), "new"); err == nil || err.Error() != "reading namespace new: etcd is down" {
			t.Errorf("error %v", err)
		}
		server.err, server.labels = nil, map[string]map[string]string{"new": {}}
		expectLabels(t, n, "new", map[string]string{}) // errors are not kept
		server.delay = time.Hour
		start := time.Now()
		if _, _, err := n.Labels(t.Context(), "slow"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(start); took != liveTimeout {
			t.Errorf("gave up after %s, want %s", took, liveTimeout)
		}
	})
}

func TestAnswersAreBounded(t *testing.T) {
	server := &api{}
	n := NewNamespaces(server.read, clock.RealClock{})
	for i := range 3 * maxLive {
		expectLabels(t, n, fmt.Sprintf("invented-%d", i), nil)
	}
	if got := len(n.answers.Keys()); got > maxLive {
		t.Errorf("%d answers are kept, want at most %d", got, maxLive)
	}
}
