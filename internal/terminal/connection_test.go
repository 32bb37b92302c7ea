package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A kubeconfig that is not there is named, and how to name another.
func TestAKubeconfigThatIsNotThere(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // no cluster around us
	folder := t.TempDir()
	empty, absent := filepath.Join(folder, "empty"), filepath.Join(folder, "absent")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variable, flag string
		want, wantNot  string
	}{
		{variable: absent, want: absent + ", where the kubeconfig is by KUBECONFIG, does not exist: set --kubeconfig or KUBECONFIG to the file"},
		{variable: empty, want: "no configuration has been provided", wantNot: "does not exist"},
		{variable: empty, flag: absent, want: absent + ": no such file"},
	} {
		t.Setenv("KUBECONFIG", c.variable)
		_, err := (&Connection{kubeconfig: c.flag}).Connect()
		if ExitCode(err) != ExitUnreachable || !strings.Contains(err.Error(), c.want) || c.wantNot != "" && strings.Contains(err.Error(), c.wantNot) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
