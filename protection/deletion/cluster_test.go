package deletion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	running     = `{"metadata":{"name":"p"}}`
	terminating = `{"metadata":{"name":"p","deletionTimestamp":"2026-01-02T03:04:05Z"},"status":{"phase":"Bound"}}`
	bound       = `{"metadata":{"name":"c"},"spec":{"x":1},"status":{"capacity":{},"phase":"Bound"}}`
	pending     = `{"status":{"phase":"Pending"},"metadata":{}}`
	fresh       = `{"metadata":{"deletionTimestamp":null}}`
)

// apiServer serves lists in pages, and logs the requests.
func apiServer(t *testing.T, lists map[string][]string) (census Census, log *[]string) {
	t.Helper()
	log = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, _ := url.QueryUnescape(r.URL.RawQuery)
		*log = append(*log, r.URL.Path+"?"+query)
		w.Header().Set("Content-Type", "application/json")
		items, found := lists[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusForbidden)
			status := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no role")).ErrStatus
			status.APIVersion, status.Kind = "v1", "Status"
			_ = json.NewEncoder(w).Encode(status)
			return
		}
		if items == nil {
			<-r.Context().Done()
			return
		}
		start, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		end, next := min(start+limit, len(items)), ""
		if end < len(items) {
			next = strconv.Itoa(end)
		}
		fmt.Fprintf(w, `{"kind":"List","metadata":{"resourceVersion":"5","continue":%q},"items":[%s]}`, next, strings.Join(items[start:end], ","))
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return NewCensus(client.CoreV1().RESTClient()), log
}

func repeat(item string, n int) []string {
	items := make([]string, n)
	for i := range items {
		items[i] = item
	}
	return items
}

const podList, claimList, thingList = "/api/v1/namespaces/shop/pods", "/api/v1/namespaces/shop/persistentvolumeclaims", "/apis/x.io/v1/things"

func TestCensus(t *testing.T) {
	pods := func(ctx context.Context, c Census) (Count, error) { return c.ActivePods(ctx, "shop") }
	claims := func(ctx context.Context, c Census) (Count, error) { return c.BoundClaims(ctx, "shop") }
	things := func(ctx context.Context, c Census) (Count, error) {
		return c.CustomResources(ctx, schema.GroupVersionResource{Group: "x.io", Version: "v1", Resource: "things"})
	}
	const choice = podList + "?fieldSelector=status.phase!=Succeeded,status.phase!=Failed&limit=500"
	for name, c := range map[string]struct {
		count    func(context.Context, Census) (Count, error)
		path     string
		items    []string
		want     Count
		requests []string
	}{
		"no Pods":                     {pods, podList, []string{}, Count{}, []string{choice}},
		"Pods":                        {pods, podList, []string{running, terminating, fresh}, Count{N: 2}, []string{choice}},
		"10,000 Pods":                 {pods, podList, repeat(running, 10_000), Count{N: 500, More: true}, []string{choice}},
		"all Pods are terminating":    {pods, podList, repeat(terminating, 501), Count{}, []string{choice, podList + "?continue=500&fieldSelector=status.phase!=Succeeded,status.phase!=Failed&limit=500"}},
		"a Pod on the second page":    {pods, podList, append(repeat(terminating, 500), running), Count{N: 1}, []string{choice, podList + "?continue=500&fieldSelector=status.phase!=Succeeded,status.phase!=Failed&limit=500"}},
		"claims":                      {claims, claimList, []string{bound, pending, terminating, bound, running}, Count{N: 2}, []string{claimList + "?limit=500"}},
		"no claim that counts":        {claims, claimList, []string{pending, terminating}, Count{}, []string{claimList + "?limit=500"}},
		"no objects":                  {things, thingList, []string{}, Count{}, []string{thingList + "?limit=1"}},
		"an object":                   {things, thingList, []string{running}, Count{N: 1}, []string{thingList + "?limit=1"}},
		"objects":                     {things, thingList, repeat(running, 7), Count{N: 1, More: true}, []string{thingList + "?limit=1"}},
		"the first one is on its way": {things, thingList, []string{terminating, running, running}, Count{N: 2}, []string{thingList + "?limit=1", thingList + "?continue=1&limit=500"}},
	} {
		t.Run(name, func(t *testing.T) {
			census, log := apiServer(t, map[string][]string{c.path: c.items})
			got, err := c.count(t.Context(), census)
			if err != nil || got != c.want {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
			if diff := cmp.Diff(c.requests, *log); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCensusFaults(t *testing.T) {
	census, _ := apiServer(t, map[string][]string{claimList: nil})
	if _, err := census.ActivePods(t.Context(), "shop"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "no role") {
		t.Errorf("what the API server said was lost: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := census.BoundClaims(ctx, "shop"); err == nil {
		t.Error("a list without an answer was counted")
	}
	for _, body := range []string{`{"items":[`, `{"items":{}}`, `{"items":[1]}`, `[]`} {
		if _, err := readPage([]byte(body), ""); err == nil {
			t.Errorf("%s was read as a list", body)
		}
	}
}
