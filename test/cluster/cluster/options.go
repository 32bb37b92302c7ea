// Package cluster runs a real Kubernetes on this machine for tests, benchmarks and demonstrations: etcd, the API
// server, controller manager and scheduler, and as many nodes as wanted, each with its own containerd and kubelet.
// Several clusters run side by side, each under a name. All that a cluster is can be undone by its name alone,
// whoever started it and however that ended.
package cluster

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fairlead-io/fairlead/test/cluster/internal/binaries"
)

// Level is how much of a cluster runs.
type Level string

const (
	// LevelAPIServer is etcd and kube-apiserver: objects, admission, conversion. It has no nodes and needs no root.
	LevelAPIServer Level = "apiserver"
	// LevelKwok adds the controller manager, the scheduler and nodes that are only pretended, by kwok: Pods become Ready,
	// end and are restarted in their status alone. Hundreds of nodes fit on a machine, and it needs no root.
	LevelKwok Level = "kwok"
	// LevelReal adds the controller manager, the scheduler and nodes on which Pods really run. It needs root.
	LevelReal Level = "real"
)

// maxNodes is how many nodes a cluster of this level can have.
func (l Level) maxNodes() int {
	if l == LevelKwok {
		return maxFakeNodes
	}
	return maxNodes
}

// DefaultName is the cluster that the command line works on unless told otherwise.
const DefaultName = "fairlead"

// DefaultKubernetesVersion is the newest supported release.
const DefaultKubernetesVersion = binaries.DefaultKubernetes

// Options say what cluster Start should bring up. The zero value of each field has a meaning.
type Options struct {
	// Name tells clusters on this machine apart: lower-case letters, digits and dashes, at most 20. Default "fairlead".
	Name string
	// Level defaults to LevelReal.
	Level Level
	// Nodes is the number of nodes of LevelReal and LevelKwok, default 1.
	Nodes int
	// KubernetesVersion is a release such as 1.30.14, default DefaultKubernetesVersion.
	KubernetesVersion string
	// Controllers adds kube-controller-manager and kube-scheduler to LevelAPIServer; the other levels always have them.
	Controllers bool
	// ExtraArgs are added to the arguments of a program, by its name: "kube-apiserver", "kubelet", ...
	ExtraArgs map[string][]string
	// Log receives progress, a line at a time. Default: nowhere.
	Log io.Writer
	// KeepRunning leaves the cluster running when this process ends. Otherwise it goes with the process, even
	// if that is killed.
	KeepRunning bool
	// StateRoot is the folder under which clusters keep their state, default StateRoot().
	StateRoot string
	// Helper is the path of the test/cluster program; default: it is built with the go command.
	Helper string
}

// StateRoot is the default place of the clusters' state: $XDG_STATE_HOME/fairlead/clusters or ~/.local/state/fairlead/clusters.
func StateRoot() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the folder for state: %w", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "fairlead", "clusters"), nil
}

// oldest is the first Kubernetes release that the product supports; kubelet's configuration is rendered from it on.
var oldest = version.MustParseSemantic("1.30.0")

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$`)

// complete fills in defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Level == "" {
		o.Level = LevelReal
	}
	if o.Nodes == 0 && o.Level != LevelAPIServer {
		o.Nodes = 1
	}
	if o.KubernetesVersion == "" {
		o.KubernetesVersion = DefaultKubernetesVersion
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.StateRoot == "" {
		root, err := StateRoot()
		if err != nil {
			return o, err
		}
		o.StateRoot = root
	}
	return o, o.validate()
}

func (o Options) validate() error {
	if !validName.MatchString(o.Name) {
		return fmt.Errorf("cluster name %q: use at most 20 lower-case letters, digits and dashes, with a letter or digit at both ends", o.Name)
	}
	if o.Level != LevelAPIServer && o.Level != LevelKwok && o.Level != LevelReal {
		return fmt.Errorf("level %q: use %q, %q or %q", o.Level, LevelAPIServer, LevelKwok, LevelReal)
	}
	if o.Level == LevelAPIServer && o.Nodes > 0 {
		return fmt.Errorf("level %q has no nodes: ask for level %q or %q, or for none", LevelAPIServer, LevelKwok, LevelReal)
	}
	if most := o.Level.maxNodes(); o.Nodes < 0 || o.Nodes > most {
		return fmt.Errorf("%d nodes: use 1 to %d", o.Nodes, most)
	}
	v, err := version.ParseSemantic(o.KubernetesVersion)
	if err != nil {
		return fmt.Errorf("reading the Kubernetes version %q: want one like %s: %w", o.KubernetesVersion, DefaultKubernetesVersion, err)
	}
	if v.LessThan(oldest) {
		return fmt.Errorf("using Kubernetes version %s: the oldest supported is %s", o.KubernetesVersion, oldest)
	}
	return layout{dir: filepath.Join(o.StateRoot, o.Name)}.checkSocketPaths()
}
