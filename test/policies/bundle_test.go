package policies

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/test/tarball"
	"github.com/fairlead-io/fairlead/validators/userpolicy/bundles"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
	"github.com/fairlead-io/fairlead/webhook/replica"
)

// bundleServer serves one bundle with its tag.
type bundleServer struct {
	*httptest.Server

	mu        sync.Mutex
	tarball   []byte
	tag       string
	unchanged int
}

func newBundleServer(t *testing.T) *bundleServer {
	t.Helper()
	s := &bundleServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *bundleServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("ETag", s.tag)
	if r.Header.Get("If-None-Match") == s.tag {
		s.unchanged++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(s.tarball)
}

func (s *bundleServer) put(t *testing.T, tag string, files map[string]string) {
	t.Helper()
	bundle := tarball.Of(t, files)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tarball, s.tag = bundle, fmt.Sprintf("%q", tag)
}

func (s *bundleServer) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unchanged
}

const bundleSettings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: org-settings, namespace: kruise-system, labels: {fairlead.io/policy-bundle: org}}
data:
  settings.yaml: "failurePolicy: Fail\nparameters: {limit: 3}\n"
`

// A bundle is in force as long as its server is there, and after a restart without it.
func TestBundlesOutliveTheirServer(t *testing.T) {
	server := newBundleServer(t)
	rules := func(word string) map[string]string {
		return map[string]string{
			".manifest":           `{"roots": ["org"], "revision": "1"}`,
			"org/org.rego":        module("org", `deny contains sprintf("%s %v: %v", [data.org.words.no, data.parameters.limit, object.data.count]) if to_number(object.data.count) > data.parameters.limit`),
			"org/words/data.json": `{"no": "` + word + `"}`,
		}
	}
	server.put(t, "one", rules("above"))
	directory := t.TempDir()
	change := func(c *replica.Cluster) {
		c.Policies = replica.PolicyOptions{Bundles: []bundles.Config{{Name: "org", URL: server.URL + "/org.tar.gz", PollSeconds: 1}}, BundleDir: directory}
	}
	w := newWorld(t, change)
	w.Must(bundleSettings, apply...)
	four := configMap("number", `{count: "4"}`)
	w.Until("its rules are in force", func() bool { return w.refused(four, "above 3: 4") })
	w.Refused(four, apply, `admission webhook "org.bundles.fairlead.io" denied`, "the policies of bundle/org")
	w.Until("its server is only asked whether it changed", func() bool { return server.asked() > 1 })
	w.Until("its status is on its settings", func() bool {
		status := w.status("org-settings")
		return status.State == sources.Active && status.Rules == 1 && status.Revision != ""
	})

	server.put(t, "two", rules("more than"))
	w.Until("a new version is in force", func() bool { return w.refused(four, "more than 3: 4") })
	server.put(t, "three", map[string]string{".manifest": `{"roots": ["org"]}`, "org/org.rego": module("org", "deny contains x if {")})
	w.Until("one that is wrong is told of", func() bool { return w.status("org-settings").Message != "" })
	w.Refused(four, apply, "more than 3: 4")
	w.Must(replaced(bundleSettings, "limit: 3", "limit: 5"), apply...)
	w.Until("settings are followed", func() bool { return !w.refused(four, "more than") })
	w.Must(bundleSettings, apply...)
	w.Until("and followed again", func() bool { return w.refused(four, "more than 3: 4") })

	w.stop()
	server.Close()
	w.serve(change)
	w.Until("a replica that starts without the server serves the last good version", func() bool { return w.refused(four, "more than 3: 4") })
	w.Must(configMap("number", `{count: "2"}`), apply...)
}
