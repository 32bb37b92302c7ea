package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/terminal"
)

func none(string) string { return "" }

func TestMistakesInTheCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"reviw":                                `unknown command "reviw" for "fairlead"; did you mean review?`,
		"review --nonsense":                    "unknown flag: --nonsense",
		"review":                               "-f FILE is missing",
		"review -f x":                          "one of --objects DIR and --live is needed",
		"review -f x --objects . --live":       "one of --objects DIR and --live is needed",
		"review -f x --objects . --old y":      "--old is for --operation update",
		"review -f /dev/null --objects . -o x": `"x" is no format`,
		"review -f /dev/null --objects . --operation connect": "none of create, update, delete",
		"review -f x --objects . --operation update":          "needs --old FILE",
		"explain pod":             "the name of a Pod is needed",
		"explain pod a b":         "accepts at most 1 arg",
		"explain deletion x":      "KIND/NAME is needed",
		"doctor --check nonsense": `there is no check "nonsense"`,
		"doctor x":                `unknown command "x"`,
	} {
		var out bytes.Buffer
		err := execute(newRootCommand("fairlead", none), &out, strings.Fields(args)...)
		if terminal.ExitCode(err) != terminal.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: exit %d, %v, want %q", args, terminal.ExitCode(err), err, want)
		}
	}
}

// fullDisk takes some bytes and then none.
type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if n := min(len(p), d.room); n < len(p) {
		d.room = 0
		return n, syscall.ENOSPC
	}
	d.room -= len(p)
	return len(p), nil
}

// An answer that nobody has whole is not one that something is denied.
func TestAnAnswerThatCannotBeWritten(t *testing.T) {
	const examples = "../../docs/examples/objects"
	pod := "-f " + examples + "/03-ordered-pod.yaml --objects " + examples
	for _, args := range []string{
		"review " + pod, "review -o json " + pod, "review -o yaml " + pod, "explain pod " + pod, "explain pod -o json " + pod,
		"webhook print", "policy native", "version",
	} {
		for _, room := range []int{0, 10} {
			root := newRootCommand("fairlead", none)
			root.SetOut(&fullDisk{room})
			root.SetErr(io.Discard)
			root.SetArgs(strings.Fields(args))
			if err := root.ExecuteContext(t.Context()); terminal.ExitCode(err) != terminal.ExitUnwritten || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: exit %d, %v", args, terminal.ExitCode(err), err)
			}
		}
	}
}

// One signal ends a command soon, though it waits for standard input or for an API server that says nothing.
func TestInterruption(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://" + silent.Addr().String()}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"standard input": {"review", "-f", "-", "--objects", t.TempDir()},
		"the API server": {"doctor", "--kubeconfig", kubeconfig},
		"a list":         {"explain", "pod", "x", "--kubeconfig", kubeconfig},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		root := newRootCommand("fairlead", none)
		never, keep := io.Pipe() // nothing is ever written
		root.SetIn(never)
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		root.SetArgs(args)
		time.AfterFunc(200*time.Millisecond, cancel)
		start := time.Now()
		err := root.ExecuteContext(ctx)
		if took := time.Since(start); terminal.ExitCode(err) != terminal.ExitInterrupted || took > 3*time.Second {
			t.Errorf("%s: exit %d after %s: %v", name, terminal.ExitCode(err), took, err)
		}
		_ = keep.Close()
	}
}

func TestHelpSaysTheName(t *testing.T) {
	for name, want := range map[string]string{"fairlead": "fairlead review -f pod.yaml", "kubectl fairlead": "kubectl fairlead review -f pod.yaml"} {
		var out bytes.Buffer
		if err := execute(newRootCommand(name, none), &out, "review", "--help"); err != nil || !strings.Contains(out.String(), "  "+want) || !strings.Contains(out.String(), "Usage:\n  "+name+" review") {
			t.Errorf("%s: %v: %s", name, err, out.String())
		}
	}
	var out bytes.Buffer
	if err := execute(newRootCommand("kubectl fairlead", none), &out, "--help"); err != nil || strings.Contains(out.String(), "controllers ") {
		t.Errorf("a plugin offers to run a service: %v: %s", err, out.String())
	}
}

func TestCompletion(t *testing.T) {
	if got := arguments([]string{"/usr/bin/kubectl_complete-fairlead", "expl"}); !slices.Equal(got, []string{"__complete", "expl"}) {
		t.Errorf("%q", got)
	}
	if got := arguments([]string{"/usr/bin/kubectl-fairlead", "doctor"}); !slices.Equal(got, []string{"doctor"}) {
		t.Errorf("%q", got)
	}
	var out bytes.Buffer
	if err := execute(newRootCommand("fairlead", none), &out, "__complete", "doctor", "--check", "cert"); err != nil || !strings.Contains(out.String(), "certificates") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// The settings of an installation are read with the flags of the service.
func TestServiceSettings(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"POD_NAMESPACE": "own", "SECRET_NAME": "other", "WEBHOOK_HOST": "example.com", "WEBHOOK_PORT": "9443"}[name]
	}
	got, err := serviceSettings([]string{
		"--feature-gates=PodWebhook=false", "--webhook-timeout-seconds=7", "--register=false", "--webhook-failure-policies=mpod.kb.io=Ignore", "--of-another-version=1", "--policy-bundles=/etc/fairlead/bundles/bundles.yaml",
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	if got.Gates.Enabled(features.PodWebhook) || got.Table.TimeoutSeconds != 7 || got.Registers || got.Table.FailurePolicies["mpod.kb.io"] != "Ignore" ||
		got.Table.Namespace != "own" || got.Secret != "other" || got.Table.Host != "example.com:9443" {
		t.Errorf("%+v", got)
	}
	if got, err := serviceSettings(nil, none); err != nil || !got.Registers || got.Secret != "kruise-webhook-certs" || got.Table.Namespace != "kruise-system" {
		t.Errorf("the defaults: %+v, %v", got, err)
	}
}
