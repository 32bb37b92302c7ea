package dryrun

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// server is an API server that gives one answer.
type server struct {
	mu      sync.Mutex
	code    int
	body    string
	version string
	delay   time.Duration
	asked   []*http.Request
	bodies  []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/version" {
		_, _ = io.WriteString(w, s.version)
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.asked, s.bodies = append(s.asked, r), append(s.bodies, string(body))
	select {
	case <-time.After(s.delay):
	case <-r.Context().Done():
	}
	w.WriteHeader(s.code)
	_, _ = io.WriteString(w, s.body)
}

type fixture struct {
	*server
	*Asker
	clock    *clocktesting.FakePassiveClock
	outcomes []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{server: &server{code: http.StatusCreated, body: `{}`, version: `{"gitVersion":"v1.37.2"}`}, clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	backend := httptest.NewServer(f.server)
	t.Cleanup(backend.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: backend.URL})
	if err != nil {
		t.Fatal(err)
	}
	f.Asker = New(client, "kruise-system", f.clock, func(outcome string) { f.outcomes = append(f.outcomes, outcome) })
	return f
}

func (f *fixture) step(d time.Duration) { f.clock.SetTime(f.clock.Now().Add(d)) }

func pod(containers, initContainers, volumes string) Pod {
	return Pod{Containers: json.RawMessage(containers), InitContainers: json.RawMessage(initContainers), Volumes: json.RawMessage(volumes)}
}

var plain = pod(`[{"name":"a","image":"i","podInjectPolicy":"BeforeAppContainer"}]`, `[]`, `[]`)

const invalid = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"PodTemplate is invalid","details":{"causes":[
	{"reason":"FieldValueRequired","message":"Required value","field":"template.spec.containers[0].image"},
	{"reason":"FieldValueNotFound","message":"Not found: \"v\"","field":"template.spec.initContainers[0].volumeMounts[0].name"}]}}`

func TestQuestionIsADryRunInTheReleaseNamespace(t *testing.T) {
	f := newFixture(t)
	if got, err := f.Problems(t.Context(), plain); err != nil || len(got) != 0 {
		t.Fatalf("%v, %v", got, err)
	}
	r := f.asked[0]
	if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/kruise-system/podtemplates" || r.URL.Query().Get("dryRun") != "All" {
		t.Errorf("%s %s", r.Method, r.URL)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(f.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "PodTemplate", "metadata": map[string]any{"generateName": "kruise-validation-", "namespace": "kruise-system"},
		"template": map[string]any{"spec": map[string]any{
			"containers":     []any{map[string]any{"name": "a", "image": "i", "podInjectPolicy": "BeforeAppContainer"}},
			"initContainers": []any{}, "volumes": []any{}, "restartPolicy": "Always", "serviceAccountName": "default",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		code int
		body string
		pod  Pod
		want []Problem
		err  string
	}{
		"accepted": {201, `{}`, plain, []Problem{}, ""},
		"refused": {422, invalid, plain, []Problem{
			{"spec.containers[0].image", "FieldValueRequired", "Required value"},
			{"spec.initContainers[0].volumeMounts[0].name", "FieldValueNotFound", `Not found: "v"`},
		}, ""},
		"refused for what stands in": {422, invalid, pod(`[]`, `[{"name":"i"}]`, `[]`), []Problem{
			{"spec", "FieldValueRequired", "Required value"},
			{"spec.initContainers[0].volumeMounts[0].name", "FieldValueNotFound", `Not found: "v"`},
		}, ""},
		"refused by somebody's webhook": {422, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"admission webhook denied it","details":{"causes":[{"reason":"x","message":"y","field":"metadata.labels"}]}}`, plain, nil, "denied it"},
		"does not support dry runs":     {400, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"some webhook does not support dry run"}`, plain, nil, "does not support dry run"},
		"forbidden":                     {403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not you"}`, plain, nil, "not you"},
		"too many requests":             {429, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":"later"}`, plain, nil, "later"},
		"out of order":                  {500, `oops`, plain, nil, "trying a PodTemplate"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.code, f.body = tt.code, tt.body
			got, err := f.Problems(t.Context(), tt.pod)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Only verdicts are remembered, for a time, for one content and one version of the API server.
func TestAnswersAreRemembered(t *testing.T) {
	f := newFixture(t)
	ask := func(p Pod, want string) {
		t.Helper()
		f.outcomes = nil
		_, _ = f.Problems(t.Context(), p)
		if !slices.Equal(f.outcomes, []string{want}) {
			t.Errorf("%v, want %s", f.outcomes, want)
		}
	}
	f.code = 503
	ask(plain, Failed)
	f.code = 201
	ask(plain, Accepted)
	ask(plain, Remembered)
	ask(pod(`[{"name":"b","image":"i"}]`, `[]`, `[]`), Accepted)
	f.step(versionFor)
	ask(plain, Remembered)
	f.server.version = `{"gitVersion":"v1.38.0"}`
	f.step(versionFor)
	f.code, f.body = 422, invalid
	ask(plain, Refused)
	ask(plain, Remembered)
	f.step(answersFor + time.Second)
	ask(plain, Refused)
}

func TestPatienceEnds(t *testing.T) {
	f := newFixture(t)
	f.delay = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := f.Problems(ctx, plain); err == nil {
		t.Errorf("%v", got)
	}
}

// While the API server is silent, a question ends with its own request, however many others wait.
func TestQuestionsDoNotWaitForEachOther(t *testing.T) {
	asked := make(chan struct{}, 2)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: silent.URL})
	if err != nil {
		t.Fatal(err)
	}
	asker := New(client, "kruise-system", clocktesting.NewFakePassiveClock(time.Unix(0, 0)), func(string) {})
	waiting, end := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() { _, _ = asker.Problems(waiting, plain) })
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if got, err := asker.Problems(ctx, plain); err == nil {
		t.Errorf("%v", got)
	}
	if took := time.Since(start); took > patience/2 {
		t.Errorf("the second question took %s", took)
	}
	end()
	first.Wait()
}
