package registry

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// login is what a registry host asks of a node that pulls.
type login struct{ User, Password string }

func loginsFile(dir string) string { return filepath.Join(dir, "logins.json") }

func readLogins(dir string) (map[string]login, error) {
	logins := map[string]login{}
	data, err := os.ReadFile(loginsFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return logins, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the logins: %w", err)
	}
	if err := json.Unmarshal(data, &logins); err != nil {
		return nil, fmt.Errorf("reading the logins: %w", err)
	}
	return logins, nil
}

// RequireLogin makes the registry whose folder is dir ask for a user and password from then on when a node pulls
// from host. An empty user takes the demand back. Calls must not overlap.
func RequireLogin(dir, host, user, password string) error {
	logins, err := readLogins(dir)
	if err != nil {
		return err
	}
	if delete(logins, host); user != "" {
		logins[host] = login{User: user, Password: password}
	}
	data, err := json.Marshal(logins)
	if err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	tmp := loginsFile(dir) + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	return os.Rename(tmp, loginsFile(dir))
}

// admitted answers a pull without the right login, and says whether to go on. Only a node names the host that it
// wants (see nameByHost), so that pushes by this machine's own programs need no login. The logins are read at
// each request: pulls are few, and a change counts at once.
func admitted(dir string, w http.ResponseWriter, r *http.Request) bool {
	logins, err := readLogins(dir)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return false
	}
	want, demanded := logins[r.URL.Query().Get("ns")]
	if !demanded {
		return true
	}
	user, password, _ := r.BasicAuth()
	if subtle.ConstantTimeCompare([]byte(user+"\x00"+password), []byte(want.User+"\x00"+want.Password)) == 1 {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="test registry"`)
	http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"login required"}]}`, http.StatusUnauthorized)
	return false
}
