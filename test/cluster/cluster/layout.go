package cluster

import (
	"fmt"
	"path/filepath"

	"github.com/fairlead-io/fairlead/test/cluster/internal/pki"
)

// layout knows where things are in a cluster's folder.
type layout struct{ dir string }

func (l layout) stateFile() string            { return filepath.Join(l.dir, "state.json") }
func (l layout) pki() pki.Dir                 { return pki.Dir(filepath.Join(l.dir, "pki")) }
func (l layout) kubeconfig(who string) string { return filepath.Join(l.dir, who+".kubeconfig") }
func (l layout) logs() string                 { return filepath.Join(l.dir, "logs") }
func (l layout) log(process string) string    { return filepath.Join(l.logs(), process+".log") }
func (l layout) etcd() string                 { return filepath.Join(l.dir, "etcd") }
func (l layout) registry() string             { return filepath.Join(l.dir, "registry") }
func (l layout) helper() string               { return filepath.Join(l.dir, "bin", "cluster") }
func (l layout) kwok() string                 { return filepath.Join(l.dir, "kwok.yaml") }
func (l layout) helm() string                 { return filepath.Join(l.dir, "helm") }
func (l layout) node(node string) string      { return filepath.Join(l.dir, "nodes", node) }

// podLogs is where kubelet keeps the output of containers: with the other logs, so that they are rescued together.
func (l layout) podLogs(node string) string { return filepath.Join(l.logs(), node, "pods") }

// sockets is the folder with one folder a node, so that a DaemonSet can mount its own node's with subPathExpr.
func (l layout) sockets() string { return filepath.Join(l.dir, "sock") }

func (l layout) containerdSocket(node string) string {
	return filepath.Join(l.sockets(), node, "containerd", "containerd.sock")
}

// checkSocketPaths refuses a folder that is too deep for the unix sockets in it, which the kernel limits to 107 bytes.
func (l layout) checkSocketPaths() error {
	const limit = 107
	longest := filepath.Join(l.node(nodeName(maxNodes)), "kubelet", "device-plugins", "kubelet.sock")
	if n := len(longest); n > limit {
		return fmt.Errorf("the folder %s is %d bytes too deep for unix sockets in it: set XDG_STATE_HOME to a shorter path, or choose a shorter name", l.dir, n-limit)
	}
	return nil
}
