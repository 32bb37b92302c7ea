package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// phase is how far a cluster has come.
type phase string

const (
	phaseStarting phase = "starting"
	phaseReady    phase = "ready"
)

// state is what must be known to control and to undo a cluster. It is on disk before anything is created.
type state struct {
	Name              string
	Level             Level
	Phase             phase
	KubernetesVersion string
	Controllers       bool
	ExtraArgs         map[string][]string `json:",omitempty"`
	Slot              slot
	// Nodes are the numbers of the nodes, ascending: 1 is node1.
	Nodes []int
	// Binaries and Helm are where the programs are.
	Binaries string
	Helm     string
	// Kwok is where the program is, at LevelKwok.
	Kwok string `json:",omitempty"`
}

// hasControllers says whether controller manager and scheduler run.
func (s state) hasControllers() bool { return s.Level != LevelAPIServer || s.Controllers }

// fits says whether a running cluster is what the options ask for, but for the number of nodes, which can grow.
func (s state) fits(o Options) bool {
	wanted := o.Level != LevelAPIServer || o.Controllers
	return s.Level == o.Level && s.KubernetesVersion == o.KubernetesVersion && s.hasControllers() == wanted &&
		maps.EqualFunc(s.ExtraArgs, o.ExtraArgs, slices.Equal[[]string])
}

func nodeName(number int) string { return "node" + strconv.Itoa(number) }

// nodeNumber is the number in a node's name.
func nodeNumber(node string) (int, error) {
	number, err := strconv.Atoi(strings.TrimPrefix(node, "node"))
	if err != nil || nodeName(number) != node {
		return 0, fmt.Errorf("node %q: nodes are called node1, node2 and so on", node)
	}
	return number, nil
}

// nextNode is the smallest number that no node has.
func (s state) nextNode() int {
	for n := 1; ; n++ {
		if !s.hasNode(n) {
			return n
		}
	}
}

func (s state) hasNode(number int) bool { return slices.Contains(s.Nodes, number) }

// loadState reads a state file; the error is os.ErrNotExist when there is no such cluster.
func loadState(path string) (state, error) {
	var s state
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("reading %s: %w", path, err)
	}
	return s, nil
}

// save writes the state file whole or not at all.
func (s state) save(path string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the folder of the state: %w", err)
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return os.Rename(tmp, path)
}

// List returns the names of the clusters below a state root, ascending: running ones and what is left of crashed ones.
func List(root string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "*", "state.json"))
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	sort.Strings(names)
	return names, nil
}

// takenSlots are the slots of all clusters below a state root.
func takenSlots(root string) (map[slot]bool, error) {
	names, err := List(root)
	if err != nil {
		return nil, err
	}
	taken := map[slot]bool{}
	for _, name := range names {
		s, err := loadState(layout{dir: filepath.Join(root, name)}.stateFile())
		if errors.Is(err, os.ErrNotExist) {
			continue // stopped meanwhile
		}
		if err != nil {
			return nil, err
		}
		taken[s.Slot] = true
	}
	return taken, nil
}
