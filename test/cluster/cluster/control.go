package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

// spec says how to start any program of the cluster.
func (c *Cluster) spec(name string) (process.Spec, error) {
	if node, program, ok := strings.Cut(name, "/"); ok {
		return c.nodeSpec(node, program)
	}
	return c.controlSpec(name)
}

// StopProcess ends one program in order (SIGTERM, after ten seconds SIGKILL), such as ControllerManager or
// NodeProcess("node1", Kubelet). Containers outlive their node's containerd and kubelet, as on a real machine.
func (c *Cluster) StopProcess(name string) error { return c.end(name, 10*time.Second) }

// KillProcess ends one program with SIGKILL.
func (c *Cluster) KillProcess(name string) error { return c.end(name, 0) }

func (c *Cluster) end(name string, grace time.Duration) error {
	c.mu.Lock()
	known := slices.Contains(c.processes(), name)
	c.mu.Unlock()
	if !known {
		return fmt.Errorf("ending %q: the cluster has no such process", name)
	}
	return process.Stop(func() ([]process.Proc, error) { return c.leaders(name) }, grace)
}

// leaders finds the program itself, without what it started: containerd's shims carry its name too.
func (c *Cluster) leaders(name string) ([]process.Proc, error) {
	leaders, _, err := c.find(name)
	return leaders, err
}

// children finds what a program started, without itself.
func (c *Cluster) children(name string) ([]process.Proc, error) {
	_, children, err := c.find(name)
	return children, err
}

func (c *Cluster) find(name string) (leaders, children []process.Proc, err error) {
	all, err := process.Find(c.dir, name)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range all {
		if p.Leader {
			leaders = append(leaders, p)
		} else {
			children = append(children, p)
		}
	}
	return leaders, children, nil
}

// StartProcess starts a program that StopProcess or KillProcess ended, and returns when it serves.
func (c *Cluster) StartProcess(ctx context.Context, name string) error {
	running, err := c.leaders(name)
	if err != nil {
		return err
	}
	if len(running) > 0 {
		return fmt.Errorf("starting %s: it runs already (process %d)", name, running[0].PID)
	}
	_, err = c.startAndAwait(ctx, name)
	return err
}

// RestartProcess stops and starts a program.
func (c *Cluster) RestartProcess(ctx context.Context, name string) error {
	if err := c.StopProcess(name); err != nil {
		return err
	}
	return c.StartProcess(ctx, name)
}
