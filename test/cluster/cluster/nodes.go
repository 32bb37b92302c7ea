package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/test/cluster/internal/cgroup"
	"github.com/fairlead-io/fairlead/test/cluster/internal/mounts"
	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

// AddNodes adds n nodes and returns when they are Ready.
func (c *Cluster) AddNodes(ctx context.Context, n int) error {
	lock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := c.reload(); err != nil {
		return err
	}
	return c.addNodes(ctx, n)
}

// addNodes adds n nodes, all at the same time; if one fails, none is left.
func (c *Cluster) addNodes(ctx context.Context, n int) error {
	if n <= 0 {
		return nil
	}
	if c.state.Level == LevelAPIServer {
		return fmt.Errorf("adding nodes: level %s has none", c.state.Level)
	}
	begin := time.Now()
	added, err := c.reserveNodes(n)
	if err != nil {
		return err
	}
	c.say("starting %d node(s)", n)
	g, gctx := errgroup.WithContext(ctx)
	start := c.startNode
	if c.state.Level == LevelKwok {
		start = c.startFakeNode
		g.SetLimit(fakeNodesAtOnce)
	}
	for _, number := range added {
		g.Go(func() error { return start(gctx, number) })
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return errors.Join(fmt.Errorf("adding nodes: %w", err), c.dropNodes(ctx, added))
	}
	c.say("%d node(s) ready (%s)", n, time.Since(begin).Round(100*time.Millisecond))
	return nil
}

// reserveNodes chooses numbers for new nodes and writes them to the state, before anything of the nodes exists.
func (c *Cluster) reserveNodes(n int) ([]int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if most := c.state.Level.maxNodes(); len(c.state.Nodes)+n > most {
		return nil, fmt.Errorf("adding nodes: a cluster of level %s has at most %d", c.state.Level, most)
	}
	var added []int
	for range n {
		number := c.state.nextNode()
		c.state.Nodes = append(c.state.Nodes, number)
		added = append(added, number)
	}
	slices.Sort(c.state.Nodes)
	return added, c.state.save(c.stateFile())
}

// dropNodes undoes nodes, forgets them and deletes their Node objects, also when ctx has ended.
func (c *Cluster) dropNodes(ctx context.Context, numbers []int) error {
	for _, n := range numbers {
		if c.state.Level != LevelReal {
			break // there is only the object
		}
		if err := c.undoNode(n); err != nil {
			return err
		}
	}
	if err := c.forgetNodes(numbers); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	const limit = 10 * time.Second // deleting an object takes milliseconds
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for _, n := range numbers {
		err := client.CoreV1().Nodes().Delete(ctx, nodeName(n), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s: %w", nodeName(n), err)
		}
	}
	return nil
}

func (c *Cluster) forgetNodes(numbers []int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Nodes = slices.DeleteFunc(c.state.Nodes, func(n int) bool { return slices.Contains(numbers, n) })
	return c.state.save(c.stateFile())
}

func (c *Cluster) startNode(ctx context.Context, number int) error {
	node := nodeName(number)
	if err := c.writeNode(number); err != nil {
		return err
	}
	if err := c.network().AddAddress(netip.PrefixFrom(c.state.Slot.node(number), 32)); err != nil {
		return err
	}
	if _, err := c.startAndAwait(ctx, NodeProcess(node, Containerd)); err != nil {
		return err
	}
	ended, err := c.startAndAwait(ctx, NodeProcess(node, Kubelet))
	if err != nil {
		return err
	}
	return c.waitNodeReady(ctx, node, ended)
}

// RemoveNode takes a node away as a machine that is switched off and removed: its Pods are killed, then its Node
// object is deleted. AddNodes gives its name to a new node.
func (c *Cluster) RemoveNode(ctx context.Context, node string) error {
	lock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := c.reload(); err != nil {
		return err
	}
	index := slices.Index(c.Nodes(), node)
	if index < 0 {
		return fmt.Errorf("removing node %q: the cluster has no such node", node)
	}
	return c.dropNodes(ctx, []int{c.state.Nodes[index]})
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
	removeOutside(c.podLogs(node), c.state.cniName(number))
	if err := c.network().RemoveAddress(c.state.Slot.node(number)); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(home), os.RemoveAll(filepath.Join(c.sockets(), node)))
}

// removeShimSockets removes the sockets in /run/containerd/s that the node's shims had; the shims' folders name them.
func removeShimSockets(home string) {
	const prefix = "unix://"
	files, _ := filepath.Glob(filepath.Join(home, "run", "io.containerd.runtime.v2.task", "*", "*", "address"))
	for _, f := range files {
		address, err := os.ReadFile(f)
		if socket, ok := strings.CutPrefix(string(address), prefix); ok && err == nil {
			_ = os.Remove(socket) // a shim that ended in order removed it itself
		}
	}
}

// removeOutside removes the few files that kubelet and CNI write to fixed places: the links to the node's Pod logs,
// and CNI's cache of the node's network.
func removeOutside(podLogs, cniName string) {
	links, _ := filepath.Glob("/var/log/containers/*.log")
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && strings.HasPrefix(target, podLogs+"/") {
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
