package registry

import (
	"io"
	"net/http"
	"testing"

	"github.com/fairlead-io/fairlead/internal/oci"
	"github.com/fairlead-io/fairlead/test/cluster/images"
)

func TestLogins(t *testing.T) {
	dir := t.TempDir()
	server := start(t, dir, io.Discard)
	img, err := oci.Build(oci.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	const secret, open = "secret.test:5001", "open.test"
	if err := RequireLogin(dir, secret, "echo", "test"); err != nil {
		t.Fatal(err)
	}
	if err := images.Push(t.Context(), server.Listener.Addr().String(), img, secret+"/a:v1", open+"/a:v1"); err != nil {
		t.Fatalf("pushing needs a login: %v", err)
	}
	status := func(host, user, password string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v2/a/manifests/v1?ns="+host, nil)
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			r.SetBasicAuth(user, password)
		}
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if got := resp.Header.Get("WWW-Authenticate"); (got != "") != (resp.StatusCode == http.StatusUnauthorized) {
			t.Errorf("status %d with WWW-Authenticate %q", resp.StatusCode, got)
		}
		return resp.StatusCode
	}
	for _, tt := range []struct {
		host, user, password string
		want                 int
	}{
		{secret, "", "", 401},
		{secret, "echo", "wrong", 401},
		{secret, "echotest", "", 401},
		{secret, "echo", "test", 200},
		{open, "", "", 200},
	} {
		if got := status(tt.host, tt.user, tt.password); got != tt.want {
			t.Errorf("%s as %q with %q: %d, want %d", tt.host, tt.user, tt.password, got, tt.want)
		}
	}
	if err := RequireLogin(dir, secret, "", ""); err != nil {
		t.Fatal(err)
	}
	if got := status(secret, "", ""); got != 200 {
		t.Errorf("after the demand was taken back: %d", got)
	}
}
