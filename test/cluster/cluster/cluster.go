package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-io/fairlead/test/cluster/internal/filelock"
	"github.com/fairlead-io/fairlead/test/cluster/internal/network"
	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

// Cluster is a running cluster. Its methods may be called by several goroutines, Stop once the others are done.
type Cluster struct {
	layout
	root string
	out  io.Writer

	mu     sync.Mutex // guards state and reaper
	state  state
	reaper *reaper // nil: nobody, the cluster outlives this process
}

// ErrNotFound is returned for a name under which no cluster runs.
var ErrNotFound = errors.New("no such cluster")

// Attach returns a cluster that another process started. stateRoot "" is the default one.
func Attach(name, stateRoot string, log io.Writer) (*Cluster, error) {
	opts, err := Options{Name: name, StateRoot: stateRoot, Log: log}.complete()
	if err != nil {
		return nil, err
	}
	c := newCluster(opts)
	s, err := loadState(c.stateFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cluster %q: %w", opts.Name, ErrNotFound)
	}
	c.state = s
	return c, err
}

func newCluster(o Options) *Cluster {
	return &Cluster{layout: layout{dir: filepath.Join(o.StateRoot, o.Name)}, root: o.StateRoot, out: o.Log}
}

// lock serialises what changes a cluster between processes.
func (c *Cluster) lock(ctx context.Context) (*filelock.Lock, error) {
	return filelock.Acquire(ctx, c.dir+".lock", func() { c.say("waiting for another process that starts or stops this cluster") })
}

// reload reads the state again, which another process may have changed while this one did not hold the lock.
func (c *Cluster) reload() error {
	s, err := loadState(c.stateFile())
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.state.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = s
	return nil
}

// releaseLock frees the lock, whose file goes with the cluster.
func (c *Cluster) releaseLock(l *filelock.Lock) {
	if _, err := os.Stat(c.dir); errors.Is(err, os.ErrNotExist) {
		l.Remove()
		return
	}
	l.Release()
}

// say reports progress. That nobody can be told is no reason to stop.
func (c *Cluster) say(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }

// Name is the cluster's name.
func (c *Cluster) Name() string { return c.state.Name }

// Level is how much of a cluster this is.
func (c *Cluster) Level() Level { return c.state.Level }

// KubernetesVersion is the release that runs, such as 1.37.2.
func (c *Cluster) KubernetesVersion() string { return c.state.KubernetesVersion }

// Dir is the cluster's folder. logs in it holds the output of every program; Stop removes it.
func (c *Cluster) Dir() string { return c.dir }

// Nodes are the names of the nodes, in the order of their numbers.
func (c *Cluster) Nodes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.state.Nodes))
	for _, n := range c.state.Nodes {
		names = append(names, nodeName(n))
	}
	return names
}

// Kubeconfig is the path of a kubeconfig file with all rights.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig("admin") }

// RESTConfig is a client configuration with all rights and no client-side limit of requests.
func (c *Cluster) RESTConfig() *rest.Config {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		// the file was written by us; it fails only when the cluster is gone, and then so does every request
		config = &rest.Config{Host: c.apiURL()}
	}
	config.QPS, config.Burst = -1, -1
	return config
}

// Registry is the address (host:port, plain HTTP) of the image registry that stands for every registry host on
// the nodes. See images.Push and PushImage.
func (c *Cluster) Registry() string {
	return "127.0.0.1:" + strconv.Itoa(c.state.Slot.registryPort())
}

// SocketRoot is a folder that has NODE/containerd/containerd.sock for each node: a DaemonSet reaches its own
// node's runtime with a hostPath volume of it and the subPathExpr $(NODE_NAME).
func (c *Cluster) SocketRoot() string { return c.sockets() }

// HostAddress is an address of this machine that Pods and the API server reach, for servers that run outside the
// cluster: that of the Pods' bridge, or loopback where there are no real nodes.
func (c *Cluster) HostAddress() string {
	if c.state.Level != LevelReal {
		return "127.0.0.1"
	}
	return c.state.Slot.gateway().String()
}

func (c *Cluster) network() network.Plan {
	s := c.state.Slot
	return network.Plan{
		Bridge: s.bridge(), Pods: s.pods(), Gateway: s.gateway(), Service: s.kubernetesService(),
		APIServer: netip.AddrPortFrom(s.gateway(), uint16(s.apiServerPort())),
	}
}

// processes lists the names of all programs that should run.
func (c *Cluster) processes() []string {
	names := c.state.controlPlane()
	if c.state.Level != LevelReal {
		return names
	}
	names = append(names, ImageRegistry)
	for _, n := range c.state.Nodes {
		names = append(names, NodeProcess(nodeName(n), Containerd), NodeProcess(nodeName(n), Kubelet))
	}
	return names
}

// Process is a program of a cluster.
type Process struct {
	Name string
	// PID is 0 when it does not run.
	PID int
}

// Processes lists the programs of the cluster and whether they run.
func (c *Cluster) Processes() ([]Process, error) {
	c.mu.Lock()
	names := c.processes()
	c.mu.Unlock()
	found, err := process.Find(c.dir, "")
	if err != nil {
		return nil, err
	}
	pids := map[string]int{}
	for _, p := range found {
		if p.Leader {
			pids[p.Name] = p.PID
		}
	}
	var all []Process
	for _, n := range names {
		all = append(all, Process{Name: n, PID: pids[n]})
	}
	return all, nil
}

// Healthy returns nil when every program runs, the API server is ready and the start was completed.
func (c *Cluster) Healthy(ctx context.Context) error {
	if c.state.Phase != phaseReady {
		return fmt.Errorf("cluster %s: its start was not completed", c.state.Name)
	}
	all, err := c.Processes()
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.PID == 0 {
			return fmt.Errorf("cluster %s: %s does not run", c.state.Name, p.Name)
		}
	}
	const limit = 5 * time.Second // a ready API server on this machine answers in milliseconds
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.apiReady(ctx)
}
