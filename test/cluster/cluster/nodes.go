package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/test/cluster/internal/cgroup"
	"github.com/fairlead-io/fairlead/test/cluster/internal/mounts"
	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

// AddNodes adds n nodes and returns when they are Ready.
func (c *Cluster) AddNodes(ctx context.Context, n int) error {
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return c.addNodes(ctx, n)
}

// growTo adds nodes until there are at least n.
func (c *Cluster) growTo(ctx context.Context, n int) error {
	return c.addNodes(ctx, n-len(c.state.Nodes))
}

// addNodes adds n nodes, all at the same time. A node is in the state before anything of it exists.
func (c *Cluster) addNodes(ctx context.Context, n int) error {
	if n <= 0 {
		return nil
	}
	if c.state.Level != LevelReal {
		return fmt.Errorf("adding nodes: level %s has none", c.state.Level)
	}
	if len(c.state.Nodes)+n > maxNodes {
		return fmt.Errorf("adding nodes: a cluster has at most %d", maxNodes)
	}
	begin := time.Now()
	var added []int
	c.mu.Lock()
	for range n {
		number := c.state.nextNode()
		c.state.Nodes = append(c.state.Nodes, number)
		slices.Sort(c.state.Nodes)
		added = append(added, number)
	}
	err := c.state.save(c.stateFile())
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.say("starting %d node(s)", n)
	g, ctx := errgroup.WithContext(ctx)
	for _, number := range added {
		g.Go(func() error { return c.startNode(ctx, number) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	c.say("%d node(s) ready (%s)", n, time.Since(begin).Round(100*time.Millisecond))
	return nil
}

func (c *Cluster) startNode(ctx context.Context, number int) error {
	node := nodeName(number)
	if err := c.writeNode(number); err != nil {
		return err
	}
	if err := c.network().AddAddress(c.state.Slot.node(number).String() + "/32"); err != nil {
		return err
	}
	if err := c.startAndAwait(ctx, NodeProcess(node, Containerd)); err != nil {
		return err
	}
	spec, err := c.nodeSpec(node, Kubelet)
	if err != nil {
		return err
	}
	ended, err := process.Start(c.dir, spec)
	if err != nil {
		return err
	}
	return c.waitNodeReady(ctx, node, ended)
}

// RemoveNode takes a node away as a machine that is switched off and removed: its Pods are killed, then its Node
// object is deleted.
func (c *Cluster) RemoveNode(ctx context.Context, node string) error {
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c.mu.Lock()
	index := slices.IndexFunc(c.state.Nodes, func(n int) bool { return nodeName(n) == node })
	c.mu.Unlock()
	if index < 0 {
		return fmt.Errorf("removing node %q: the cluster has no such node", node)
	}
	if err := c.undoNode(c.state.Nodes[index]); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	if err := client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting node %s: %w", node, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Nodes = slices.Delete(c.state.Nodes, index, index+1)
	return c.state.save(c.stateFile())
}

// undoNode ends everything that runs on a node and removes all that it left on the machine.
func (c *Cluster) undoNode(number int) error {
	node := nodeName(number)
	tree, err := cgroup.Detect()
	if err != nil {
		return err
	}
	// From the top down, so that nothing is started anew, and each parent still lives to collect its dead children:
	// kubelet, the containers, their shims, containerd.
	if err := c.KillProcess(NodeProcess(node, Kubelet)); err != nil {
		return err
	}
	if err := tree.Remove(c.state.podCgroup(node)); err != nil {
		return err
	}
	if err := process.Stop(func() ([]process.Proc, error) { return c.children(NodeProcess(node, Containerd)) }, 0); err != nil {
		return err
	}
	if err := process.Stop(func() ([]process.Proc, error) { return process.Find(c.dir, node) }, 0); err != nil {
		return err
	}
	if err := tree.Remove(c.state.nodeCgroup(node)); err != nil {
		return err
	}
	home := c.node(node)
	removeShimSockets(home)
	if err := mounts.Undo(home); err != nil {
		return err
	}
	removeOutside(home, c.state.cniName(number))
	return errors.Join(os.RemoveAll(home), os.RemoveAll(filepath.Join(c.sockets(), node)))
}

// removeShimSockets removes the sockets in /run/containerd/s that the node's shims had; the shims' folders name them.
func removeShimSockets(home string) {
	const prefix = "unix://"
	files, _ := filepath.Glob(filepath.Join(home, "run", "io.containerd.runtime.v2.task", "*", "*", "address"))
	for _, f := range files {
		address, err := os.ReadFile(f)
		if err == nil && len(address) > len(prefix) && string(address[:len(prefix)]) == prefix {
			_ = os.Remove(string(address[len(prefix):])) // a shim that ended in order removed it itself
		}
	}
}

// removeOutside removes the few files that kubelet and CNI write to fixed places: the links of container logs
// into the node's folder, and CNI's cache of the node's network.
func removeOutside(home, cniName string) {
	links, _ := filepath.Glob("/var/log/containers/*.log")
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && len(target) > len(home) && target[:len(home)+1] == home+"/" {
			_ = os.Remove(l)
		}
	}
	const cache = "/var/lib/cni/results/"
	results, _ := filepath.Glob(cache + cniName + "-*-eth0")
	for _, r := range results {
		sandbox := strings.TrimSuffix(strings.TrimPrefix(r, cache+cniName+"-"), "-eth0")
		_ = os.Remove(r)
		_ = os.Remove(cache + "cni-loopback-" + sandbox + "-lo")
	}
}
