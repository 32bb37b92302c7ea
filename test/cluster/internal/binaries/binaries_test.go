package binaries

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRenderModule(t *testing.T) {
	const answer = `{
	"Go": "1.26.0",
	"Godebug": [{"Key": "default", "Value": "go1.26"}],
	"Replace": [
		{"Old": {"Path": "k8s.io/client-go"}, "New": {"Path": "./staging/src/k8s.io/client-go"}},
		{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
		{"Old": {"Path": "example.com/fork"}, "New": {"Path": "example.com/forked", "Version": "v1.0.0"}}
	]}`
	var upstream goMod
	if err := json.Unmarshal([]byte(answer), &upstream); err != nil {
		t.Fatal(err)
	}
	const want = `module fairlead.test/kubernetes

go 1.26.0

godebug default=go1.26

require k8s.io/kubernetes v1.37.2

replace (
	k8s.io/api => k8s.io/api v0.37.2
	k8s.io/client-go => k8s.io/client-go v0.37.2
)
`
	if diff := cmp.Diff(want, renderModule("1.37.2", upstream)); diff != "" {
		t.Error(diff)
	}
}

func TestKubernetesRecipe(t *testing.T) {
	r, err := kubernetesRecipe("1.30.14")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range r.Programs {
		names = append(names, p.Name)
		if p.Name == "kubelet" && !strings.Contains(p.LDFlags, "version.gitVersion=v1.30.14 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=30") {
			t.Errorf("kubelet is stamped with %s", p.LDFlags)
		}
	}
	want := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "etcd"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if _, err := kubernetesRecipe("1.30"); err == nil || !strings.Contains(err.Error(), "want one like") {
		t.Errorf("error %v, want one that says what a version looks like", err)
	}
}

// The folder changes with whatever is pinned, and only then.
func TestFolderFollowsThePin(t *testing.T) {
	base := func() recipe {
		return recipe{Product: "p", Version: "1.0.0", Platform: "linux/amd64", Module: "m", Programs: []program{{Name: "a", Package: "x/a", LDFlags: "-s"}}}
	}
	if first, again := base().folder(), base().folder(); first != again {
		t.Error("equal pins have different folders")
	}
	if dir := base().folder(); !strings.HasPrefix(dir, "p/1.0.0-") || len(dir) != len("p/1.0.0-")+12 {
		t.Errorf("folder %s", dir)
	}
	for name, change := range map[string]func(*recipe){
		"version":  func(r *recipe) { r.Version = "1.0.1" },
		"platform": func(r *recipe) { r.Platform = "linux/arm64" },
		"module":   func(r *recipe) { r.Module = "n" },
		"flags":    func(r *recipe) { r.Programs[0].LDFlags = "-w" },
		"package":  func(r *recipe) { r.Programs[0].Package = "x/b" },
	} {
		r := base()
		change(&r)
		if r.folder() == base().folder() {
			t.Errorf("a change of the %s keeps the folder", name)
		}
	}
}

func TestDoneWantsEveryProgram(t *testing.T) {
	cache := t.TempDir()
	r := recipe{Product: "p", Version: "1.0.0", Programs: []program{{Name: "a"}, {Name: "b"}}}
	for _, step := range []struct {
		add  string
		want bool
	}{{"", false}, {"a", false}, {"b", true}} {
		if step.add != "" {
			path := filepath.Join(cache, r.folder(), step.add)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.done(cache); got != step.want {
			t.Errorf("with %q added: done %t, want %t", step.add, got, step.want)
		}
	}
}

func TestProgressCountsPackages(t *testing.T) {
	p := &progress{}
	w := p.lines()
	for _, chunk := range []string{"go: downloading x v1.0.0\n", "x/a\nx/b\n", "x/c\n"} {
		if n, err := w.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	if got := p.packages.Load(); got != 3 {
		t.Errorf("%d packages, want 3", got)
	}
}

func TestRunGoReportsTheEndOfTheOutput(t *testing.T) {
	var log bytes.Buffer
	_, err := runGo(t.Context(), t.TempDir(), &progress{log: &log}, "build", "./no-such-folder")
	if err == nil || !strings.Contains(err.Error(), "running go build") || !strings.Contains(err.Error(), "go.mod file not found") {
		t.Errorf("error %v, want one with go's own words", err)
	}
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{{"a\nb\nc\n", 2, "b\nc"}, {"a\n", 2, "a"}, {"", 2, ""}} {
		if got := tail(tt.in, tt.n); got != tt.want {
			t.Errorf("tail of %q: %q, want %q", tt.in, got, tt.want)
		}
	}
}
