package containerrecreate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// apiServer answers GETs of paths, with what the client accepts in the log.
func apiServer(t *testing.T, answers map[string]string) (Live, *[]string) {
	t.Helper()
	var log []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log = append(log, r.Method+" "+r.URL.Path+" "+r.Header.Get("Accept"))
		w.Header().Set("Content-Type", "application/json")
		switch body := answers[r.URL.Path]; body {
		case "":
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(apierrors.NewNotFound(podResource, "x").ErrStatus)
		case "hang":
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(body))
		}
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return NewCluster(client.CoreV1().RESTClient()), &log
}

func TestCluster(t *testing.T) {
	const pod = `{"kind":"Pod","apiVersion":"v1","future":9007199254740993}`
	live, log := apiServer(t, map[string]string{
		"/api/v1/namespaces/shop/pods/web-0": pod,
		"/api/v1/nodes/n1":                   `{"kind":"PartialObjectMetadata","metadata":{"labels":{"a":"b"}}}`,
		"/api/v1/nodes/bare":                 `{"metadata":{}}`,
	})
	if raw, err := live.Pod(t.Context(), "shop", "web-0"); err != nil || string(raw) != pod {
		t.Errorf("%s, %v", raw, err)
	}
	if labels, err := live.NodeLabels(t.Context(), "n1"); err != nil || len(labels) != 1 || labels["a"] != "b" {
		t.Errorf("%v, %v", labels, err)
	}
	if labels, err := live.NodeLabels(t.Context(), "bare"); err != nil || len(labels) != 0 {
		t.Errorf("%v, %v", labels, err)
	}
	if _, err := live.Pod(t.Context(), "shop", "web-1"); !apierrors.IsNotFound(err) {
		t.Errorf("a Pod that is not there gives %v", err)
	}
	if _, err := live.NodeLabels(t.Context(), "n2"); !apierrors.IsNotFound(err) {
		t.Errorf("a node that is not there gives %v", err)
	}
	if !strings.HasSuffix((*log)[0], " application/json") || !strings.Contains((*log)[1], "as=PartialObjectMetadata") {
		t.Errorf("requests %v", *log)
	}
}

func TestReadingEndsWithTheDeadline(t *testing.T) {
	live, _ := apiServer(t, map[string]string{"/api/v1/namespaces/shop/pods/web-0": "hang"})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	response := New(live, true).Handle(ctx, creation(t, `{spec: {podName: web-0, containers: [{name: bare}]}}`))
	if response.Fault != http.StatusServiceUnavailable || time.Since(start) > 5*time.Second {
		t.Errorf("%+v %+v after %s", response, response.Status, time.Since(start))
	}
	if _, err := live.Pod(ctx, "shop", "web-0"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
