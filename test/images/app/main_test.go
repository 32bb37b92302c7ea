package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWebAnswersEveryPath(t *testing.T) {
	server := httptest.NewServer(web("v2"))
	defer server.Close()
	for _, path := range []string{"/", "/a/b?c"} {
		resp, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK || string(body) != "v2\n" {
			t.Errorf("%s: %d %q %v", path, resp.StatusCode, body, err)
		}
	}
}

func TestProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "app")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tests := []struct {
		name string
		args []string
		sig  syscall.Signal
		code int
	}{
		{name: "ends by itself", args: []string{"exit", "1ms", "3"}, code: 3},
		{name: "ends well on SIGTERM while it would end badly", args: []string{"exit", "10m", "3"}, sig: syscall.SIGTERM, code: 0},
		{name: "ends on SIGTERM while it waits", args: []string{"wait"}, sig: syscall.SIGTERM, code: 0},
		{name: "refuses a duration", args: []string{"exit", "soon", "3"}, code: 2},
		{name: "refuses a code", args: []string{"exit", "1ms", "x"}, code: 2},
		{name: "refuses no arguments", code: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(program, tt.args...)
			cmd.Env = append(os.Environ(), "VERSION=v1")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if tt.sig != 0 {
				line := make([]byte, 200) // it handles signals before it says anything
				if n, err := out.Read(line); err != nil || !strings.Contains(string(line[:n]), "v1") {
					t.Errorf("it says %q, %v", line[:n], err)
				}
				if err := cmd.Process.Signal(tt.sig); err != nil {
					t.Fatal(err)
				}
			}
			begin := time.Now()
			var failed *exec.ExitError
			if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.code {
				t.Errorf("exit code %d, want %d", got, tt.code)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}
