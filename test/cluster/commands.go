package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/cluster/internal/binaries"
	"github.com/fairlead-io/fairlead/test/cluster/internal/registry"
)

// target says which cluster a command is about.
type target struct{ name, root string }

func newCommand() *cobra.Command {
	t := &target{}
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A real Kubernetes on this machine, for tests, benchmarks and demonstrations",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&t.name, "name", cluster.DefaultName, "name of the cluster; several run side by side")
	root.PersistentFlags().StringVar(&t.root, "state-root", "", "folder of the clusters' state (default $XDG_STATE_HOME/fairlead/clusters)")
	root.AddCommand(build(), up(t), nodes(t), down(t), status(t), env(t), serveRegistry(), reap(t))
	return root
}

func (t *target) attach() (*cluster.Cluster, error) { return cluster.Attach(t.name, t.root, os.Stderr) }

// build makes the programs without starting anything, so that no test has to wait ten minutes for them.
func build() *cobra.Command {
	var kubernetes string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build Kubernetes, etcd, Helm and kwok, unless they are in the cache",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := binaries.CacheDir()
			if err != nil {
				return err
			}
			if _, err = binaries.Ensure(cmd.Context(), cache, kubernetes, os.Stderr); err != nil {
				return err
			}
			_, err = binaries.EnsureKwok(cmd.Context(), cache, os.Stderr)
			return err
		},
	}
	cmd.Flags().StringVar(&kubernetes, "kubernetes-version", cluster.DefaultKubernetesVersion, "Kubernetes release")
	return cmd
}

func up(t *target) *cobra.Command {
	opts := cluster.Options{KeepRunning: true, Log: os.Stderr}
	var level string
	var install bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, or do nothing if it runs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if install {
				if err := cluster.InstallPackages(cmd.Context(), os.Stderr); err != nil {
					return err
				}
			}
			opts.Name, opts.StateRoot, opts.Level = t.name, t.root, cluster.Level(level)
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program: %w", err)
			}
			opts.Helper = self
			if opts.Level == cluster.LevelAPIServer && !cmd.Flags().Changed("nodes") {
				opts.Nodes = 0
			}
			c, err := cluster.Start(cmd.Context(), opts)
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "for this shell: eval \"$(go run ./test/cluster env --name %s)\"\n", c.Name())
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&level, "level", string(cluster.LevelReal), "apiserver (etcd and API server only), kwok (pretended nodes, as many as wanted) or real (nodes that run Pods)")
	f.IntVar(&opts.Nodes, "nodes", 3, "number of nodes of level real or kwok")
	f.StringVar(&opts.KubernetesVersion, "kubernetes-version", cluster.DefaultKubernetesVersion, "Kubernetes release")
	f.BoolVar(&opts.Controllers, "controllers", false, "run controller manager and scheduler in level apiserver too")
	f.BoolVar(&install, "install", os.Getenv("FAIRLEAD_INSTALL") == "1", "install missing Debian packages first (also FAIRLEAD_INSTALL=1)")
	return cmd
}

func nodes(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "nodes COUNT",
		Short: "Add nodes to a running cluster until it has COUNT",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := strconv.Atoi(args[0])
			if err != nil || want < 1 {
				return fmt.Errorf("number of nodes %q: want a number from 1 on", args[0])
			}
			c, err := t.attach()
			if err != nil {
				return err
			}
			return c.AddNodes(cmd.Context(), want-len(c.Nodes()))
		},
	}
}

func down(t *target) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and undo all that it did to this machine, also after a crash",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			names := []string{t.name}
			if all {
				var err error
				if names, err = t.list(); err != nil {
					return err
				}
			}
			var failed []error
			for _, name := range names {
				failed = append(failed, stop(target{name: name, root: t.root}))
			}
			return errors.Join(failed...)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "stop every cluster on this machine")
	return cmd
}

func (t *target) list() ([]string, error) {
	root := t.root
	if root == "" {
		var err error
		if root, err = cluster.StateRoot(); err != nil {
			return nil, err
		}
	}
	return cluster.List(root)
}

func stop(t target) error {
	begin := time.Now()
	c, err := t.attach()
	if errors.Is(err, cluster.ErrNotFound) {
		fmt.Fprintf(os.Stderr, "cluster %s does not run\n", t.name)
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.Stop(); err != nil {
		return fmt.Errorf("stopping cluster %s: %w", t.name, err)
	}
	fmt.Fprintf(os.Stderr, "cluster %s is stopped (%s)\n", t.name, time.Since(begin).Round(100*time.Millisecond))
	return nil
}

func status(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show a cluster's programs; fails if it is not whole",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.attach()
			if err != nil {
				return err
			}
			all, err := c.Processes()
			if err != nil {
				return err
			}
			if err := writeStatus(cmd.OutOrStdout(), c, all); err != nil {
				return err
			}
			return c.Healthy(cmd.Context())
		},
	}
}

func writeStatus(out io.Writer, c *cluster.Cluster, processes []cluster.Process) error {
	var text strings.Builder
	row := func(key, value string) { text.WriteString(key + "\t" + value + "\n") }
	row("cluster", c.Name())
	row("level", string(c.Level()))
	row("Kubernetes", c.KubernetesVersion())
	row("folder", c.Dir())
	row("registry", c.Registry())
	row("", "")
	for _, p := range processes {
		state := "does not run"
		if p.PID != 0 {
			state = "process " + strconv.Itoa(p.PID)
		}
		row(p.Name, state)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, err := io.WriteString(w, text.String())
	return errors.Join(err, w.Flush())
}

func env(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print shell lines that make kubectl and helm use a cluster",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.attach()
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), exports(c.Environment()))
			return err
		},
	}
}

// exports renders variables for a POSIX shell.
func exports(environment []string) string {
	var b strings.Builder
	for _, kv := range environment {
		key, value, _ := strings.Cut(kv, "=")
		fmt.Fprintf(&b, "export %s='%s'\n", key, strings.ReplaceAll(value, "'", `'\''`))
	}
	return b.String()
}

// serveRegistry is what a cluster runs as its image registry.
func serveRegistry() *cobra.Command {
	var address, dir string
	cmd := &cobra.Command{
		Use:    "registry",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return registry.Serve(cmd.Context(), address, dir, os.Stdout)
		},
	}
	cmd.Flags().StringVar(&address, "address", "", "host:port to listen on")
	cmd.Flags().StringVar(&dir, "dir", "", "folder of images")
	return cmd
}

// reap is what stops a cluster whose starter died.
func reap(t *target) *cobra.Command {
	return &cobra.Command{
		Use:    "reap",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return cluster.Reap(os.Stdin, t.name, t.root) },
	}
}
