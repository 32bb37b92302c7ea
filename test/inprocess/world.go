// Package inprocess runs parts of the product in a test's own process, with the rights that the chart gives them, for a
// cluster that the test asks as a person would.
package inprocess

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/installation"
)

// Patience is for what takes a Lease, which is sought every 2 s, and a busy machine.
const Patience = 90 * time.Second

// World is a cluster in a test.
type World struct {
	*testing.T
	*cluster.Cluster
}

// NewWorld is an API server, without nodes, for the time of the test.
func NewWorld(t *testing.T) World {
	t.Helper()
	return World{T: t, Cluster: cluster.ForTest(t, cluster.Options{Level: cluster.LevelAPIServer})}
}

// On is the world in a part of the test.
func (w World) On(t *testing.T) World {
	w.T = t
	return w
}

// Try is what kubectl says; of a command that fails the error has it too. It also works while a test cleans up.
func (w World) Try(stdin string, args ...string) (string, error) {
	w.Helper()
	out, err := w.KubectlInput(context.WithoutCancel(w.Context()), strings.NewReader(stdin), args...)
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, out)
	}
	return out, nil
}

// Must is what kubectl says, which must not fail.
func (w World) Must(stdin string, args ...string) string {
	w.Helper()
	out, err := w.Try(stdin, args...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// Refused runs kubectl, which must fail and say all of these words.
func (w World) Refused(stdin string, args []string, words ...string) {
	w.Helper()
	out, err := w.Try(stdin, args...)
	if err == nil {
		w.Errorf("kubectl %s: allowed: %s", strings.Join(args, " "), out)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.Errorf("kubectl %s: %v, want %q in it", strings.Join(args, " "), err, word)
		}
	}
}

// Until waits for a state of the world.
func (w World) Until(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(Patience); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("not within %s: %s", Patience, what)
		}
	}
}

// Define applies CustomResourceDefinitions, from a file or a folder, and waits until they are served.
func (w World) Define(path string) {
	w.Helper()
	w.Must("", "apply", "--server-side", "-f", path)
	w.Until(path+" is served", func() bool { // kubectl wait fails while there is no condition at all
		_, err := w.Try("", "wait", "--for=condition=Established", "--timeout=60s", "-f", path)
		return err == nil
	})
}

// Chart is the folder of the chart.
func (w World) Chart() string {
	w.Helper()
	root, err := installation.Root(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return filepath.Join(root, "charts", "kruise")
}
