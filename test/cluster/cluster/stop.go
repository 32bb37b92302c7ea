package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/test/cluster/internal/cgroup"
	"github.com/fairlead-io/fairlead/test/cluster/internal/mounts"
	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

// Stop ends every process of the cluster and undoes everything it did to the machine: containers, mounts, network
// namespaces, bridge, iptables rules, cgroups and its folder. Stopping a stopped cluster does nothing.
func (c *Cluster) Stop() error {
	lock, err := c.lock(context.Background())
	if err != nil {
		return err
	}
	defer c.releaseLock(lock)
	err = c.teardown()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaper.dismiss()
	c.reaper = nil
	return err
}

// teardown works from the state on disk alone, and can be repeated after it was interrupted anywhere: the state
// file goes last. Programs are killed, not asked: nothing of them is kept.
func (c *Cluster) teardown() error {
	err := c.reload()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.state.Level == LevelReal {
		if err = c.undoNodes(); err != nil {
			return err
		}
	}
	if err = process.Stop(func() ([]process.Proc, error) { return process.Find(c.dir, "") }, 0); err != nil {
		return err
	}
	// the state file is in the folder, and must be the last to go
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(c.stateFile()) {
			if err := os.RemoveAll(filepath.Join(c.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(c.dir)
}

func (c *Cluster) undoNodes() error {
	var g errgroup.Group
	for _, n := range c.state.Nodes {
		g.Go(func() error { return c.undoNode(n) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	tree, err := cgroup.Detect()
	if err != nil {
		return err
	}
	if err := tree.Remove(c.state.cgroup()); err != nil {
		return err
	}
	tree.RemoveIfEmpty(filepath.Dir(c.state.cgroup())) // the parent of all clusters goes with the last
	if err := mounts.Undo(c.dir); err != nil {
		return err
	}
	return c.network().Down()
}

// rescueLogs moves the logs out of the folder that is about to be removed and says where they are.
func (c *Cluster) rescueLogs() string {
	kept := c.dir + ".logs"
	if err := errors.Join(os.RemoveAll(kept), os.Rename(c.logs(), kept)); err != nil {
		return "not kept: " + err.Error()
	}
	return kept
}
