package replica

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/webhook"
)

// planted is in every value that may be secret: environment, annotations, commands, and all that is not what it should be.
const planted = "sesame"

// secretive is a SidecarSet whose values are planted, and which Pods of the app web match.
const secretive = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: agents, annotations: {token: sesame}}
spec:
  selector: {matchLabels: {app: web}}
  patchPodMetadata:
  - {patchPolicy: Overwrite, annotations: {token: sesame}}
  containers:
  - name: agent
    image: "bank.test/tool:v1"
    env: [{name: PASSWORD, value: sesame}]
    command: [run, --password=sesame]
---
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: unusable, annotations: {token: sesame}}
spec:
  selector: {matchLabels: {app: web}}
  containers:
  - {name: agent, image: "bank.test/tool:v1", env: sesame}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, annotations: {token: sesame}}
`

// shapes are objects with planted values, in good order and out of it.
var shapes = []string{
	`{"metadata":{"name":"x","labels":{"app":"web"},"annotations":{"token":"sesame"}},
	  "spec":{"containers":[{"name":"c","image":"i","env":[{"name":"PASSWORD","value":"sesame"}]}],
	  "selector":{"matchLabels":{"app":"web"}},"template":{"spec":{"containers":[{"name":"c","env":[{"name":"P","value":"sesame"}]}]}}},
	  "data":{"key":"sesame"}}`,
	`{"metadata":{"name":"x","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","env":"sesame"}],"initContainers":"sesame"}}`,
	`{"metadata":{"name":"x","labels":{"app":"web"},"annotations":"sesame"},"spec":{"containers":"sesame"}}`,
	`{"metadata":{"name":"x","labels":{"app":"web"},"annotations":{"token":["sesame"]}},"spec":{"containers":[{"name":"c","env":[{"name":"P","value":{"sesame":1}}]}]}}`,
	`{"metadata":{"name":"x","annotations":{"apps.kruise.io/container-launch-priority":"sesame","kruise.io/sidecarset-hash":"sesame"},
	  "labels":{"app":"web","policy.kruise.io/delete-protection":"Always"}},"spec":{"replicas":"sesame","containers":[]},"status":"sesame"}`,
	`{"metadata":{"name":"x","labels":{"app":"web"}},"spec":"sesame"}`,
	`{"metadata":"sesame"}`,
	`{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","env":[{"name":"PASSWORD","value":"sesame`,
	`{"metadata":{"name":"x"},"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"P","value":sesame}]}]}}}}`,
	`"sesame"`,
}

// Nothing of what is in objects is in a log, whatever the verbosity, whatever becomes of the request.
func TestNoLogHasWhatIsSecret(t *testing.T) {
	for _, verbosity := range []int{0, 4, 10} {
		t.Run(fmt.Sprintf("v=%d", verbosity), func(t *testing.T) {
			var told locked
			log := logr.FromSlogHandler(slog.NewJSONHandler(&told, &slog.HandlerOptions{Level: slog.Level(-verbosity)}))
			klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
			t.Cleanup(klog.ClearLogger)
			a := startAlone(t, map[string]string{"a.yaml": secretive, "b.yaml": "kind: [sesame\n  - sesame: {"}, func(s *Standalone) { s.Log = log })
			sent := a.sendShapes(t)
			if err := a.stop(); err != nil {
				t.Error(err)
			}
			access := a.access.String()
			for name, lines := range map[string]string{"access log": access, "log": told.String()} {
				for line := range strings.Lines(lines) {
					if strings.Contains(line, planted) {
						t.Errorf("the %s has what is secret: %s", name, line)
					}
				}
			}
			for _, decision := range []string{"mutated", "denied"} {
				if !strings.Contains(access, `"decision":"`+decision+`"`) {
					t.Errorf("nothing of %d requests was %s; this test shows little", sent, decision)
				}
			}
		})
	}
}

// sendShapes sends every shape to every webhook and as an object to be converted.
func (a *alone) sendShapes(t *testing.T) (sent int) {
	t.Helper()
	post := func(path, body string) {
		resp, err := a.client.Post("https://"+a.BindAddress+path+"?timeout=5s", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		sent++
	}
	paths := map[string]bool{}
	for _, entry := range webhook.All(webhook.Deps{}) {
		rule := entry.Rules[0]
		operation := string(rule.Operations[0])
		key := entry.Path + operation
		if paths[key] {
			continue
		}
		paths[key] = true
		for _, shape := range shapes {
			object, old := shape, `{"metadata":{"name":"x","annotations":{"token":"sesame"}}}`
			if operation == "DELETE" {
				object, old = "null", shape
			}
			post(entry.Path, fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"group":%[1]q,"version":%[2]q,"kind":%[3]q},
				"resource":{"group":%[1]q,"version":%[2]q,"resource":%[3]q},"namespace":"shop","name":"x","operation":%[4]q,"oldObject":%[5]s,"object":%[6]s}}`,
				rule.APIGroups[0], rule.APIVersions[0], rule.Resources[0], operation, old, object))
		}
	}
	for _, shape := range shapes {
		post("/convert", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u-1","desiredAPIVersion":"apps.kruise.io/v1beta1",
			"objects":[`+strings.Replace(shape, `{"metadata"`, `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"SidecarSet","metadata"`, 1)+`]}}`)
	}
	return sent
}

// locked is a log in memory.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// A log that nobody reads holds up no request.
func TestAStuckLogHoldsNothingUp(t *testing.T) {
	pipe, writer := io.Pipe() // nobody reads
	defer func() { _ = pipe.Close() }()
	a := startAlone(t, map[string]string{"a.yaml": secretive}, func(s *Standalone) { s.AccessLog = writer })
	for range 20 {
		start := time.Now()
		resp, err := a.client.Post("https://"+a.BindAddress+"/mutate-pod?timeout=5s", "application/json", strings.NewReader(podReview))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Response struct{ Patch []byte } }
		err = json.NewDecoder(resp.Body).Decode(&answer)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || len(answer.Response.Patch) == 0 || time.Since(start) > 3*time.Second {
			t.Fatalf("HTTP %d after %s: %v", resp.StatusCode, time.Since(start), err)
		}
	}
}
