package bundles

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/test/tarball"
	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// origin is a server of one bundle.
type origin struct {
	*httptest.Server

	mu        sync.Mutex
	tarball   []byte
	tag       string
	token     string
	unchanged int
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *origin) put(tag string, tarball []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tag, o.tarball = tag, tarball
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.token = r.Header.Get("Authorization")
	switch {
	case o.tarball == nil:
		http.Error(w, "gone", http.StatusBadGateway)
	case o.tag != "" && r.Header.Get("If-None-Match") == o.tag:
		o.unchanged++
		w.WriteHeader(http.StatusNotModified)
	default:
		w.Header().Set("ETag", o.tag)
		_, _ = w.Write(o.tarball)
	}
}

// settings are those of every bundle.
type settings struct{ text string }

func (s *settings) Settings(string) (string, error) {
	if s.text == "broken" {
		return "", errors.New("two ConfigMaps")
	}
	return s.text, nil
}
func (s *settings) Notify(func(string)) {}

// rig is a poller of one bundle.
type rig struct {
	*Poller
	settings *settings
	keeper   *sources.Keeper
}

func newRig(config Config, directory string) *rig {
	keeper := sources.NewKeeper(sources.Options{
		Sets: &userpolicy.Sets{}, Metrics: userpolicy.NewMetrics(prometheus.NewRegistry()), Log: logr.Discard(),
	})
	s := &settings{text: "parameters: {limit: 3}"}
	return &rig{
		Poller: New(Options{
			Bundles: []Config{config}, Directory: directory, Keeper: keeper, Settings: s, Clock: clock.RealClock{}, Log: logr.Discard(),
		}),
		settings: s, keeper: keeper,
	}
}

func (r *rig) look(t *testing.T) error {
	t.Helper()
	return r.followed[0].look(t.Context())
}

// says is what the rules in force say of a ConfigMap.
func (r *rig) says(t *testing.T, n string) string {
	t.Helper()
	set := r.keeper.Sets.Get("bundle/org")
	if set == nil {
		return "nothing is in force"
	}
	decision, err := set.Evaluate(t.Context(), userpolicy.Request{Time: time.Now(), Request: &admission.Request{
		Operation: admission.Create, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Object: []byte(`{"data":{"n":"` + n + `"}}`),
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(decision.Violations)
}

func (r *rig) trouble() string {
	for _, state := range r.keeper.States() {
		return fmt.Sprint(errors.Join(state.Failure, state.Trouble))
	}
	return "no state"
}

func TestVersionsComeIntoForce(t *testing.T) {
	server := newOrigin(t)
	server.put(`"1"`, tarball.Of(t, files("above")))
	r := newRig(Config{Name: "org", URL: server.URL}, t.TempDir())
	if awaited := r.Awaited(); len(awaited) != 1 {
		t.Errorf("awaited are %q before the first answer", awaited)
	}
	if err := r.look(t); err != nil {
		t.Fatal(err)
	}
	if got := r.says(t, "4"); got != "[org.deny: above 3]" {
		t.Errorf("the first version says %s", got)
	}
	if got := r.says(t, "2"); got != "[]" {
		t.Errorf("of what is right the first version says %s", got)
	}
	if err := r.look(t); err != nil || server.unchanged != 1 {
		t.Errorf("asked again: %v, %d answers that nothing changed", err, server.unchanged)
	}
	server.put(`"2"`, tarball.Of(t, files("more than")))
	if err := r.look(t); err != nil {
		t.Fatal(err)
	}
	if got := r.says(t, "4"); got != "[org.deny: more than 3]" {
		t.Errorf("the second version says %s", got)
	}
	if awaited := r.Awaited(); len(awaited) != 0 {
		t.Errorf("awaited are %q", awaited)
	}
}

func TestTheLastGoodVersionStays(t *testing.T) {
	server := newOrigin(t)
	server.put(`"1"`, tarball.Of(t, files("above")))
	directory := t.TempDir()
	r := newRig(Config{Name: "org", URL: server.URL}, directory)
	if err := r.look(t); err != nil {
		t.Fatal(err)
	}
	bad := files("x")
	bad["org/org.rego"] = strings.Replace(rules, "data.parameters.limit\n", "http.send({}).x\n", 1)
	for name, change := range map[string]func(){
		"rules that do not compile": func() { server.put(`"2"`, tarball.Of(t, bad)) },
		"no bundle at all":          func() { server.put(`"3"`, []byte("<html>")) },
		"a server in trouble":       func() { server.put("", nil) },
	} {
		change()
		if err := r.look(t); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := r.says(t, "4"); got != "[org.deny: above 3]" || r.trouble() == "<nil>" {
			t.Errorf("%s: in force is what says %s, and the trouble is %s", name, got, r.trouble())
		}
		restarted := newRig(Config{Name: "org", URL: server.URL}, directory)
		restarted.Restore(t.Context())
		if got := restarted.says(t, "4"); got != "[org.deny: above 3]" || restarted.Tried() != nil {
			t.Errorf("%s: after a restart in force is what says %s, %v", name, got, restarted.Tried())
		}
	}
	moved := newRig(Config{Name: "org", URL: server.URL + "/other"}, directory)
	moved.Restore(t.Context())
	if got := moved.says(t, "4"); got != "nothing is in force" {
		t.Errorf("of another address, in force is what says %s", got)
	}
}

// A bundle that cannot be unpacked is a version that is not usable, not one that nobody knows of; and what was in force is again
// the newest once the server goes back to it.
func TestABundleThatCannotBeUnpackedIsInvalid(t *testing.T) {
	server := newOrigin(t)
	server.put(`"1"`, tarball.Of(t, files("above")))
	r := newRig(Config{Name: "org", URL: server.URL}, "")
	state := func() sources.State {
		_ = r.look(t) // the state has it
		return r.keeper.States()[0]
	}
	first := state()
	server.put(`"2"`, []byte("<html>"))
	if got := state(); got.Failure == nil || got.Trouble != nil || got.Found == first.Found || got.Set != first.Set {
		t.Errorf("one that cannot be unpacked: %+v", got)
	}
	server.put("", nil)
	if got := state(); got.Trouble == nil {
		t.Errorf("a server in trouble: %+v", got)
	}
	server.put(`"1"`, tarball.Of(t, files("above")))
	if got := state(); got.Failure != nil || got.Trouble != nil || got.Found != first.Found {
		t.Errorf("the first one again: %+v", got)
	}
}

func TestAServerThatAnswersNothingIsInTrouble(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }))
	defer server.Close()
	r := newRig(Config{Name: "org", URL: server.URL}, "")
	if err := r.look(t); err == nil || !strings.Contains(r.trouble(), "has not changed") {
		t.Errorf("%v, and its state says %q", err, r.trouble())
	}
}

func TestATornFileIsNoBundle(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "org.bundle.json"), []byte(`{"url":`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(Config{Name: "org", URL: "http://127.0.0.1:1"}, directory)
	r.Restore(t.Context())
	if got := r.says(t, "4"); got != "nothing is in force" || r.Tried() == nil {
		t.Errorf("in force is what says %s", got)
	}
}

func TestATokenIsSent(t *testing.T) {
	server := newOrigin(t)
	server.put("", tarball.Of(t, files("above")))
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Config{Name: "org", URL: server.URL, TokenFile: token}).fetch(t.Context(), ""); err != nil || server.token != "Bearer sesame" {
		t.Errorf("%q was sent, %v", server.token, err)
	}
}

func TestATokenIsForOneServer(t *testing.T) {
	other := &origin{tarball: tarball.Of(t, files("above"))}
	other.Server = httptest.NewTLSServer(other)
	defer other.Close()
	server := httptest.NewTLSServer(http.RedirectHandler(other.URL, http.StatusFound)) // another port of the same host
	defer server.Close()
	directory := t.TempDir()
	token, ca := filepath.Join(directory, "token"), filepath.Join(directory, "ca")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := errors.Join(os.WriteFile(token, []byte("sesame"), 0o600), os.WriteFile(ca, certificate, 0o600)); err != nil {
		t.Fatal(err)
	}
	got, err := (Config{Name: "org", URL: server.URL, TokenFile: token, CAFile: ca}).fetch(t.Context(), "")
	if err != nil || len(got.tarball) == 0 || other.token != "" {
		t.Errorf("%d bytes, %v, and the other server got %q", len(got.tarball), err, other.token)
	}
}

func TestASlowServerIsGivenUp(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	start := time.Now()
	_, err := (Config{Name: "org", URL: slow.URL, TimeoutSeconds: 1}).fetch(t.Context(), "")
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestSettingsThatCannotBeReadKeepABundleOut(t *testing.T) {
	server := newOrigin(t)
	server.put(`"1"`, tarball.Of(t, files("above")))
	r := newRig(Config{Name: "org", URL: server.URL}, "")
	r.settings.text = "broken"
	if err := r.look(t); err == nil || r.says(t, "4") != "nothing is in force" {
		t.Errorf("%v, and in force is what says %s", err, r.says(t, "4"))
	}
}

func TestReadRefusesMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`[{name: org, url: "https://a/x.tar.gz"}]`:                       "",
		`[{name: org, uri: "https://a"}]`:                                `unknown field`,
		`[{name: Org, url: "https://a"}]`:                                `name "Org"`,
		`[{name: org, url: "ftp://a"}]`:                                  "must be as https://",
		`[{name: org, url: "https://u:p@a"}]`:                            "use tokenFile",
		`[{name: org, url: "http://a", tokenFile: /x}]`:                  "in the open",
		`[{name: org, url: "https://a", maxMiB: 65}]`:                    "between 1 and 64",
		`[{name: org, url: "https://a"}, {name: org, url: "https://b"}]`: "already",
	} {
		file := filepath.Join(t.TempDir(), "bundles.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		switch _, err := Read(file); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Settings with a mistake leave the last good ones in force, with rules that come meanwhile too, and after a restart. Their state says so.
func TestTheLastGoodSettingsStay(t *testing.T) {
	for name, mistake := range map[string]string{"no YAML": "parameters: [", "an unknown field": "limit: 4", "two ConfigMaps": "broken"} {
		t.Run(name, func(t *testing.T) {
			server := newOrigin(t)
			server.put(`"1"`, tarball.Of(t, files("above")))
			directory := t.TempDir()
			r := newRig(Config{Name: "org", URL: server.URL}, directory)
			if err := r.look(t); err != nil {
				t.Fatal(err)
			}
			inForce := func(r *rig, want string) {
				t.Helper()
				if got, state := r.says(t, "4"), r.keeper.States()[0]; got != want || state.Failure == nil || !strings.HasSuffix(state.Failure.Error(), "; the last good settings are in force") {
					t.Errorf("in force is what says %s, and the failure is %v", got, state.Failure)
				}
			}
			r.settings.text = mistake
			if err := r.look(t); err != nil {
				t.Errorf("the version that is there: %v", err)
			}
			inForce(r, "[org.deny: above 3]")
			server.put(`"2"`, tarball.Of(t, files("more than")))
			for range 2 {
				if err := r.look(t); err != nil {
					t.Errorf("a version that comes: %v", err)
				}
				inForce(r, "[org.deny: more than 3]")
			}
			set := r.keeper.Sets.Get("bundle/org")
			if _ = r.look(t); r.keeper.Sets.Get("bundle/org") != set {
				t.Error("what did not change is compiled again")
			}
			restarted := newRig(Config{Name: "org", URL: server.URL}, directory)
			restarted.settings.text = mistake
			restarted.Restore(t.Context())
			inForce(restarted, "[org.deny: more than 3]")
			restarted.settings.text = "parameters: {limit: 2}"
			if err := restarted.look(t); err != nil || restarted.says(t, "3") != "[org.deny: more than 2]" || restarted.trouble() != "<nil>" {
				t.Errorf("mended: %s, %v, and the trouble is %s", restarted.says(t, "3"), err, restarted.trouble())
			}
		})
	}
}
