package policyaudit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Pages grow and shrink by the size of objects.
func TestNextLimit(t *testing.T) {
	for _, c := range []struct{ size, items, want int }{
		{0, 0, 50}, {100, 0, 50},
		{50 * 1024, 50, 500},    // 1 KiB each: 8192 would fit
		{50 << 20, 50, 8},       // 1 MiB each
		{50 * 32768, 50, 256},   // 32 KiB each
		{20 << 20, 1, 1},        // one that is larger than a page
		{500 * 16384, 500, 500}, // 16 KiB each: 512
	} {
		if got := nextLimit(c.size, c.items); got != c.want {
			t.Errorf("after %d bytes of %d items %d, want %d", c.size, c.items, got, c.want)
		}
	}
}

func TestPages(t *testing.T) {
	api := newAPI(t)
	for i := range 700 {
		api.put(pods, fmt.Sprintf("{metadata: {name: p%d}}", i))
	}
	api.expires = 2 // the API server forgets where the list was
	a, _ := api.auditor()
	var rests int
	a.lists.rest = func(context.Context, time.Duration) { rests++ }
	n := 0
	err := a.lists.each(t.Context(), query{path: []string{pods}}, func(raw jsontext.Value) error {
		if want := fmt.Sprintf(`{"metadata":{"name":"p%d"}}`, n); string(raw) != want {
			t.Fatalf("%s, want %s", raw, want)
		}
		n++
		return nil
	})
	if err != nil || n != 700 || rests != 3 {
		t.Errorf("%d objects in %d pages, %v", n, rests, err)
	}
	want := []string{
		pods + "?limit=50", pods + "?continue=50&limit=500", pods + "?continue=50&limit=500", pods + "?continue=50&limit=500", pods + "?continue=550&limit=500",
	}
	if diff := cmp.Diff(want, api.lists); diff != "" {
		t.Error(diff)
	}
}

func TestListsEnd(t *testing.T) {
	api := newAPI(t)
	for i := range 60 {
		api.put(pods, fmt.Sprintf("{metadata: {name: p%d}}", i))
	}
	a, _ := api.auditor()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := a.lists.each(ctx, query{path: []string{pods}}, func(jsontext.Value) error {
		if n++; n == 10 {
			cancel()
		}
		return nil
	})
	if err == nil || n != 10 {
		t.Errorf("%d objects, %v", n, err)
	}
	fault := errors.New("enough")
	if err := a.lists.each(t.Context(), query{path: []string{pods}}, func(jsontext.Value) error { return fault }); !errors.Is(err, fault) {
		t.Errorf("%v", err)
	}
}

func TestAListThatAlwaysExpiresIsGivenUp(t *testing.T) {
	api := newAPI(t)
	for i := range 60 {
		api.put(pods, fmt.Sprintf("{metadata: {name: p%d}}", i))
	}
	api.expires = 100
	a, _ := api.auditor()
	err := a.lists.each(t.Context(), query{path: []string{pods}}, func(jsontext.Value) error { return nil })
	if !apierrors.IsResourceExpired(err) || len(api.lists) != 5 {
		t.Errorf("%d lists, %v", len(api.lists), err)
	}
}

// A page that took long is followed by a pause four times as long, ten seconds at most.
func TestRest(t *testing.T) {
	api := newAPI(t)
	a, clock := api.auditor()
	for took, want := range map[time.Duration]time.Duration{time.Second: 4 * time.Second, time.Minute: 10 * time.Second} {
		done := make(chan struct{})
		go func() { a.rest(t.Context(), took); close(done) }()
		for !clock.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
		clock.Step(want - time.Millisecond)
		select {
		case <-done:
			t.Errorf("after %s the pause is shorter than %s", took, want)
		case <-time.After(20 * time.Millisecond):
		}
		clock.Step(time.Millisecond)
		<-done
	}
	a.rest(t.Context(), 0)
}

func TestWhole(t *testing.T) {
	one := &target{kind: "Pod"}
	one.Version = "v1"
	for raw, want := range map[string]string{
		`{"metadata":{"name":"a"}}`:                               `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":""}}`: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":""}}`,
	} {
		h := head{Metadata: meta{Name: "a"}}
		if strings.Contains(raw, "kind") {
			h.Kind, h.APIVersion = "Pod", "v1"
		}
		if got := one.whole(h, jsontext.Value(raw)); string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
