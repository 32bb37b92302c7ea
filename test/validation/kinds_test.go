package validation

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// manifests reads a list of objects.
func manifests[T any](t *testing.T, file string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func text(t *testing.T, object any) string {
	t.Helper()
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const goodKinds = "testdata/kinds/good.yaml"

// everyKind: good manifests are accepted, and applied again they change nothing, neither as a patch nor by server-side apply.
func everyKind(t *testing.T, w *world) {
	for _, object := range manifests[map[string]any](t, goodKinds) {
		t.Run(fmt.Sprint(object["apiVersion"], " ", object["kind"]), func(t *testing.T) {
			manifest := text(t, object)
			out, err := w.Try(manifest, apply...)
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			read := func() map[string]any {
				var list struct{ Items []map[string]any }
				out := w.Must(manifest, "get", "-o", "json", "-f", "-")
				if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 1 {
					t.Fatalf("%v: %s", err, out)
				}
				return list.Items[0]
			}
			before := read()
			if again, err := w.Try(manifest, apply...); err != nil {
				t.Errorf("applied again: %v: %s", err, again)
			}
			if version := at(t, read(), "metadata", "resourceVersion"); version != at(t, before, "metadata", "resourceVersion") {
				t.Errorf("applied again something is stored: %s", cmp.Diff(before, read()))
			}
			if _, err := w.Try(manifest, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
				t.Errorf("applied by the server: %v", err)
			}
			if diff := cmp.Diff(before["spec"], read()["spec"]); diff != "" {
				t.Errorf("applied again:\n%s", diff)
			}
			if generation := at(t, read(), "metadata", "generation"); generation != 1.0 {
				t.Errorf("generation %v", generation)
			}
			replaced, err := w.Try(manifest, "replace", "-f", "-")
			if err != nil {
				t.Fatalf("replaced: %v: %s", err, replaced)
			}
			if generation := at(t, read(), "metadata", "generation"); generation != 1.0 {
				t.Errorf("replaced by itself: generation %v:\n%s", generation, cmp.Diff(before["spec"], read()["spec"]))
			}
		})
	}
}

// mistake is an entry of testdata/kinds/bad.yaml.
type mistake struct {
	Kind   string          `json:"kind"`
	Name   string          `json:"name"`
	Rename bool            `json:"rename"`
	Code   int32           `json:"code"`
	Patch  json.RawMessage `json:"patch"`
	Says   []string        `json:"says"`
}

// badKinds: each mistake is refused with its code and words, all of them in one answer.
func badKinds(t *testing.T, w *world) {
	good := make(map[string]map[string]any)
	for _, object := range manifests[map[string]any](t, goodKinds) {
		good[object["kind"].(string)+" "+at(t, object, "metadata", "name").(string)] = object
	}
	for _, m := range manifests[mistake](t, "testdata/kinds/bad.yaml") {
		t.Run(m.Kind+" "+m.Says[0], func(t *testing.T) {
			object := good[m.Kind+" "+m.Name]
			if object == nil {
				t.Fatalf("there is no good %s %s", m.Kind, m.Name)
			}
			merged, err := jsonpatch.MergePatch([]byte(text(t, object)), m.Patch)
			if err != nil {
				t.Fatal(err)
			}
			path := "/apis/" + object["apiVersion"].(string)
			if namespace, ok := object["metadata"].(map[string]any)["namespace"]; ok {
				path += "/namespaces/" + namespace.(string)
			}
			path += "/" + strings.ToLower(m.Kind) + "s"
			client := w.client.Discovery().RESTClient()
			var request *rest.Request
			if m.Rename {
				renamed := strings.Replace(string(merged), `"name":"`+m.Name+`","namespace"`, `"name":"another","namespace"`, 1)
				request = client.Post().AbsPath(path).Body([]byte(renamed)).SetHeader("Content-Type", "application/json")
			} else {
				request = client.Patch("application/merge-patch+json").AbsPath(path, m.Name).Body([]byte(m.Patch))
			}
			refused(t, request.Do(t.Context()).Error(), m)
		})
	}
}

func refused(t *testing.T, err error, m mistake) {
	t.Helper()
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		t.Fatalf("not refused: %v", err)
	}
	if code := status.Status().Code; code != m.Code {
		t.Errorf("code %d, want %d", code, m.Code)
	}
	for _, word := range m.Says {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v\nwant %q in it", err, word)
		}
	}
}

// templateMistakes: a template that can never become a Pod is refused when it is written.
func templateMistakes(t *testing.T, w *world) {
	file := func(name string) []string {
		return []string{"apply", "--validate=false", "-f", "testdata/015/" + name + ".yaml"}
	}
	w.On(t).Refused("", file("01-cloneset-misplaced-volumes"), "is invalid", "spec.template.spec.containers[0].volumeMounts[0].name", "data-vol")
	if _, err := w.Try("", "get", "clone", "whoami"); err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("what was refused is there: %v", err)
	}
	w.On(t).Refused("", file("02-statefulset-envfrom"), "is invalid", "spec.template.spec.containers[1].envFrom")
	if out, err := w.Try("", file("03-cloneset-claim-mount")...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	patch := []string{"patch", "clone", "whoami", "--type=merge", "--patch-file", "testdata/015/04-patch-bad.yaml"}
	for _, args := range [][]string{patch, append(patch, "--dry-run=server")} {
		w.On(t).Refused("", args, "spec.template.spec.containers[0].volumeMounts[1].name", "cache")
	}
	var stored map[string]any
	if err := json.Unmarshal([]byte(w.Must("", "get", "clone", "whoami", "-o", "json")), &stored); err != nil {
		t.Fatal(err)
	}
	if at(t, stored, "metadata", "generation") != 1.0 || at(t, stored, "spec", "template", "spec", "containers", 0, "image") != "bank.test/web:v1" {
		t.Errorf("a refused update left %v", stored)
	}
	both, err := os.ReadFile("testdata/015/01-cloneset-misplaced-volumes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	never := strings.Replace(string(both), "      containers:\n", "      restartPolicy: Never\n      containers:\n", 1)
	never = strings.Replace(never, "name: whoami, namespace", "name: both, namespace", 1)
	w.On(t).Refused(never, []string{"apply", "--validate=false", "-f", "-"},
		"spec.template.spec.restartPolicy", "spec.template.spec.containers[0].volumeMounts[0].name")
}

// jobMistakes: templates of jobs without a restart policy get one or are refused, and so are other slips of schedules.
func jobMistakes(t *testing.T, w *world) {
	file := func(name string) []string {
		return []string{"apply", "--validate=false", "-f", "testdata/021/" + name + ".yaml"}
	}
	read := func(kind, name string) (stored map[string]any) {
		if err := json.Unmarshal([]byte(w.Must("", "get", kind, name, "-o", "json")), &stored); err != nil {
			t.Fatal(err)
		}
		return stored
	}
	w.Must("", file("01-broadcastjob")...)
	sweep := read("bcj", "sweep")
	for _, want := range []struct {
		value any
		path  []any
	}{
		{"OnFailure", []any{"spec", "template", "spec", "restartPolicy"}},
		{"50%", []any{"spec", "parallelism"}},
		{"Always", []any{"spec", "completionPolicy", "type"}},
		{"FailFast", []any{"spec", "failurePolicy", "type"}},
	} {
		if diff := cmp.Diff(want.value, at(t, sweep, want.path...)); diff != "" {
			t.Errorf("%v: %s", want.path, diff)
		}
	}
	w.Must("", file("02-cron-misplaced")...)
	if got := at(t, read("acj", "hello"), "spec", "template", "broadcastJobTemplate", "spec", "template", "spec", "restartPolicy"); got != "OnFailure" {
		t.Errorf("restartPolicy %v", got)
	}
	w.On(t).Refused("", file("03-cron-job-no-policy"), "is invalid", "spec.template.jobTemplate.spec.template.spec.restartPolicy")
	w.On(t).Refused("", file("04-cron-zone-twice"), "is invalid", "spec.timeZone")
	w.On(t).Refused("", file("05-cron-long-name"), "is invalid", "metadata.name", "52")
	long, err := os.ReadFile("testdata/021/05-cron-long-name.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const name = "logpusher-post-logpusher-base-adjusted-log-pusher-nightly"
	w.Must(strings.Replace(string(long), name, name[:52], 1), apply...)
}
