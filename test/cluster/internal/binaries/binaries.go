// Package binaries builds the programs of a Kubernetes cluster, helm and kwok from their Go modules and keeps them
// in a cache outside the source tree. A build happens once per pin: the versions, the link flags and the platform.
package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fairlead-io/fairlead/test/cluster/internal/filelock"
)

// DefaultKubernetes is the newest Kubernetes that the product supports, and so the one tests run on unless told otherwise.
const DefaultKubernetes = "1.37.2"

// HelmVersion is the helm that installs the chart in tests. Any helm 4 would do; one release is pinned so that
// a run of today and one of next month render the same.
const HelmVersion = "4.3.2"

// KwokVersion is the kwok that pretends nodes.
const KwokVersion = "0.8.0"

// Set is where the programs are. Every path exists.
type Set struct {
	// Kubernetes is the folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet and kubectl.
	Kubernetes string
	// Helm is the path of the helm program.
	Helm string
}

// Ensure returns the programs of a Kubernetes version such as 1.37.2, building what the cache lacks. It takes
// about nine minutes on two cold cores and reports progress to log. Two processes never build at once: the
// second waits for the first. cacheDir is created if needed; see CacheDir.
func Ensure(ctx context.Context, cacheDir, kubernetes string, log io.Writer) (Set, error) {
	kube, err := kubernetesRecipe(kubernetes)
	if err != nil {
		return Set{}, err
	}
	helm := helmRecipe()
	set := Set{
		Kubernetes: filepath.Join(cacheDir, kube.folder()),
		Helm:       filepath.Join(cacheDir, helm.folder(), "helm"),
	}
	return set, ensure(ctx, cacheDir, log, kube, helm)
}

// EnsureKwok returns the path of kwok, building it if the cache lacks it, which takes about three minutes on two cold cores.
func EnsureKwok(ctx context.Context, cacheDir string, log io.Writer) (string, error) {
	kwok := kwokRecipe()
	return filepath.Join(cacheDir, kwok.folder(), "kwok"), ensure(ctx, cacheDir, log, kwok)
}

// ensure builds what is missing.
func ensure(ctx context.Context, cacheDir string, log io.Writer, recipes ...recipe) error {
	missing := func(r recipe) bool { return !r.done(cacheDir) }
	if !slices.ContainsFunc(recipes, missing) {
		return nil
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(cacheDir, "build.lock"), func() {
		say(log, "waiting for another process that builds Kubernetes")
	})
	if err != nil {
		return err
	}
	defer lock.Release()
	for _, r := range recipes {
		if !missing(r) {
			continue
		}
		if err := r.build(ctx, cacheDir, log); err != nil {
			return err
		}
	}
	return nil
}

// CacheDir is the folder for programs: $XDG_CACHE_HOME/fairlead, or ~/.cache/fairlead.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache folder: %w", err)
	}
	return filepath.Join(dir, "fairlead"), nil
}

// recipe is one build: what is pinned, and how each program comes about.
type recipe struct {
	Product  string
	Version  string
	Platform string
	// Module is how go.mod is made: "" means that the programs are installed from their own module as it is.
	Module   string
	Programs []program
}

type program struct {
	Name    string
	Package string
	LDFlags string
}

// kubernetesRecipe says how to build the programs of one Kubernetes version.
func kubernetesRecipe(v string) (recipe, error) {
	parsed, err := version.ParseSemantic(v)
	if err != nil {
		return recipe{}, fmt.Errorf("reading Kubernetes version %q (want one like %s): %w", v, DefaultKubernetes, err)
	}
	// without a version stamp the server calls itself v0.0.0-master, and clients refuse it
	const pkg = "k8s.io/component-base/version"
	stamp := fmt.Sprintf("-s -w -X %[1]s.gitVersion=v%[2]s -X %[1]s.gitMajor=%[3]d -X %[1]s.gitMinor=%[4]d -X %[1]s.gitTreeState=clean",
		pkg, v, parsed.Major(), parsed.Minor())
	r := recipe{Product: "kubernetes", Version: v, Platform: platform(), Module: moduleLayout}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"} {
		r.Programs = append(r.Programs, program{Name: name, Package: "k8s.io/kubernetes/cmd/" + name, LDFlags: stamp})
	}
	r.Programs = append(r.Programs, program{Name: "etcd", Package: etcdPackage, LDFlags: "-s -w"})
	return r, nil
}

func helmRecipe() recipe {
	return recipe{Product: "helm", Version: HelmVersion, Platform: platform(), Programs: []program{{
		Name:    "helm",
		Package: "helm.sh/helm/v4/cmd/helm",
		LDFlags: "-s -w -X helm.sh/helm/v4/internal/version.version=v" + HelmVersion,
	}}}
}

func kwokRecipe() recipe {
	return recipe{Product: "kwok", Version: KwokVersion, Platform: platform(), Programs: []program{{
		Name: "kwok", Package: "sigs.k8s.io/kwok/cmd/kwok", LDFlags: "-s -w",
	}}}
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// folder is the path below the cache folder, with the hash of all that is pinned, so that a change of the pin
// is a new folder and an unchanged one never builds again.
func (r recipe) folder() string {
	pin, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings only: cannot fail
	}
	sum := sha256.Sum256(pin)
	return filepath.Join(r.Product, r.Version+"-"+hex.EncodeToString(sum[:])[:12])
}

// done says whether every program is there. Programs are renamed into place when complete, so a file is a whole one.
func (r recipe) done(cacheDir string) bool {
	for _, p := range r.Programs {
		if info, err := os.Stat(filepath.Join(cacheDir, r.folder(), p.Name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

func (r recipe) String() string {
	return strings.ToUpper(r.Product[:1]) + r.Product[1:] + " " + r.Version
}
