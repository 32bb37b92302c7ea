package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/test/cluster/internal/binaries"
	"github.com/fairlead-io/fairlead/test/cluster/internal/filelock"
)

// Start brings a cluster up and returns when it works: the API server is ready, the nodes are Ready, Pods can be
// created. If it runs already with the same level and version, Start adds the nodes that are missing and returns
// at once; what is left of a crashed one is cleaned up first. On an error, or when ctx ends before, nothing of the
// cluster is left but its logs. The first start of a Kubernetes version builds it, which takes minutes.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	if err = Preflight(opts.Level); err != nil {
		return nil, err
	}
	c := newCluster(opts)
	lock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	running, err := c.adopt(ctx, opts)
	if err == nil && running {
		err = c.addNodes(ctx, opts.Nodes-len(c.state.Nodes))
	} else if err == nil {
		err = c.create(ctx, opts)
	}
	if err != nil {
		c.releaseLock(lock)
		return nil, err
	}
	lock.Release()
	return c, nil
}

// adopt takes over a running cluster of this name, or cleans up what is left of one.
func (c *Cluster) adopt(ctx context.Context, opts Options) (running bool, err error) {
	c.state, err = loadState(c.stateFile())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sick := c.Healthy(ctx)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if sick != nil {
		c.say("cleaning up an earlier cluster of this name: %v", sick)
		return false, c.teardown()
	}
	if !c.state.fits(opts) {
		return false, fmt.Errorf("cluster %s runs already with other options (level %s, Kubernetes %s, controllers %t, extra arguments %v): stop it first, or use another name",
			c.state.Name, c.state.Level, c.state.KubernetesVersion, c.state.hasControllers(), c.state.ExtraArgs)
	}
	return true, nil
}

// create makes the cluster from nothing, and nothing of it if that fails.
func (c *Cluster) create(ctx context.Context, opts Options) error {
	cache, err := binaries.CacheDir()
	if err != nil {
		return err
	}
	programs, err := binaries.Ensure(ctx, cache, opts.KubernetesVersion, c.out)
	if err != nil {
		return err
	}
	kwok, err := kwokProgram(ctx, opts.Level, cache, c.out)
	if err != nil {
		return err
	}
	helper, err := helperProgram(ctx, opts.Helper, cache)
	if err != nil {
		return err
	}
	c.state = state{
		Name: opts.Name, Level: opts.Level, Phase: phaseStarting, KubernetesVersion: opts.KubernetesVersion,
		Controllers: opts.Controllers, ExtraArgs: opts.ExtraArgs, Binaries: programs.Kubernetes, Helm: programs.Helm, Kwok: kwok,
	}
	if err = c.claimSlot(ctx); err != nil {
		return err
	}
	if err = copyProgram(helper, c.helper()); err != nil {
		return errors.Join(err, c.teardown())
	}
	if c.reaper, err = startReaper(c.helper(), c.state.Name, c.root); err != nil {
		return errors.Join(err, c.teardown())
	}
	if err := c.bringUp(ctx, opts.Nodes); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		c.say("the start did not succeed; undoing it")
		logs := c.rescueLogs()
		undone := c.teardown()
		c.reaper.dismiss()
		return errors.Join(fmt.Errorf("starting cluster %s: %w (logs: %s)", opts.Name, err, logs), undone)
	}
	if opts.KeepRunning {
		c.reaper.dismiss()
		c.reaper = nil
	}
	return nil
}

// claimSlot chooses the cluster's ports and addresses and writes its state, so that no other start takes them.
func (c *Cluster) claimSlot(ctx context.Context) error {
	lock, err := filelock.Acquire(ctx, filepath.Join(c.root, ".slots.lock"), nil)
	if err != nil {
		return err
	}
	defer lock.Release()
	taken, err := takenSlots(c.root)
	if err != nil {
		return err
	}
	networks, err := localNetworks()
	if err != nil {
		return err
	}
	if c.state.Slot, err = chooseSlot(taken, listenable, networks); err != nil {
		return err
	}
	return c.state.save(c.stateFile())
}

// bringUp starts everything, the control plane and what nodes need side by side.
func (c *Cluster) bringUp(ctx context.Context, nodes int) error {
	begin := time.Now()
	c.say("starting Kubernetes %s, level %s, in %s", c.state.KubernetesVersion, c.state.Level, c.dir)
	if err := errors.Join(c.writeCredentials(), c.writeKwokConfig()); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	if c.state.Level == LevelReal {
		if err := c.network().Up(); err != nil {
			return err
		}
		g.Go(func() error { return c.startRegistry(gctx) })
	}
	g.Go(func() error { return c.startControlPlane(gctx) })
	if err := g.Wait(); err != nil {
		return err
	}
	c.say("control plane is up (%s)", time.Since(begin).Round(100*time.Millisecond))
	if err := c.addNodes(ctx, nodes); err != nil {
		return err
	}
	if c.state.hasControllers() {
		if err := c.waitDefaultServiceAccount(ctx); err != nil {
			return err
		}
	}
	c.state.Phase = phaseReady
	c.say("cluster %s is ready (%s)", c.state.Name, time.Since(begin).Round(100*time.Millisecond))
	return c.state.save(c.stateFile())
}

func (c *Cluster) startControlPlane(ctx context.Context) error {
	for _, name := range []string{Etcd, APIServer} {
		if _, err := c.startAndAwait(ctx, name); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, name := range c.state.controlPlane()[2:] {
		g.Go(func() error {
			_, err := c.startAndAwait(ctx, name)
			return err
		})
	}
	return g.Wait()
}

// startRegistry starts the image registry and puts the sandbox image into it.
func (c *Cluster) startRegistry(ctx context.Context) error {
	if _, err := c.startAndAwait(ctx, ImageRegistry); err != nil {
		return err
	}
	return c.pushPause(ctx)
}
