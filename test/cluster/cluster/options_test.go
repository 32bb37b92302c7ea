package cluster

import (
	"cmp"
	"strings"
	"testing"
)

func TestOptionsComplete(t *testing.T) {
	root := "/s"
	tests := []struct {
		name string
		opts Options
		err  string
	}{
		{name: "defaults", opts: Options{}},
		{name: "no nodes at level apiserver", opts: Options{Level: LevelAPIServer, Nodes: 1}, err: "has no nodes"},
		{name: "unknown level", opts: Options{Level: "reel"}, err: `use "apiserver", "kwok" or "real"`},
		{name: "capital letters", opts: Options{Name: "Demo"}, err: "lower-case"},
		{name: "a name of 20", opts: Options{Name: strings.Repeat("a", 20)}},
		{name: "a name of 21", opts: Options{Name: strings.Repeat("a", 21)}, err: "at most 20"},
		{name: "a path as a name", opts: Options{Name: "../x"}, err: "lower-case"},
		{name: "a dash at the end", opts: Options{Name: "a-"}, err: "both ends"},
		{name: "no patch number", opts: Options{KubernetesVersion: "1.37"}, err: "want one like 1.37.2"},
		{name: "too old", opts: Options{KubernetesVersion: "1.29.9"}, err: "oldest supported is 1.30.0"},
		{name: "the oldest", opts: Options{KubernetesVersion: "1.30.0"}},
		{name: "too many nodes", opts: Options{Nodes: 61}, err: "use 1 to 60"},
		{name: "one node of kwok", opts: Options{Level: LevelKwok}},
		{name: "as many as kwok can", opts: Options{Level: LevelKwok, Nodes: 5000}},
		{name: "more than kwok can", opts: Options{Level: LevelKwok, Nodes: 5001}, err: "use 1 to 5000"},
		{name: "too deep for sockets", opts: Options{StateRoot: "/" + strings.Repeat("d", 60)}, err: "too deep for unix sockets"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.opts.StateRoot == "" {
				tt.opts.StateRoot = root
			}
			got, err := tt.opts.complete()
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			level, nodes := cmp.Or(tt.opts.Level, LevelReal), cmp.Or(tt.opts.Nodes, 1)
			if got.Level != level || got.Nodes != nodes || got.Name == "" || got.KubernetesVersion == "" || got.Log == nil {
				t.Errorf("incomplete: %+v", got)
			}
		})
	}
}

func TestSocketPathLimit(t *testing.T) {
	// "/nodes/node60/kubelet/device-plugins/kubelet.sock" has 49 bytes, so the folder may have 107-49 = 58
	if err := (layout{dir: "/" + strings.Repeat("d", 57)}).checkSocketPaths(); err != nil {
		t.Errorf("58 bytes: %v", err)
	}
	if err := (layout{dir: "/" + strings.Repeat("d", 58)}).checkSocketPaths(); err == nil || !strings.Contains(err.Error(), "1 bytes too deep") {
		t.Errorf("59 bytes: error %v, want 1 byte too deep", err)
	}
}

func TestStateRoot(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/x")
	if got, err := StateRoot(); err != nil || got != "/x/fairlead/clusters" {
		t.Errorf("with XDG_STATE_HOME: %q, %v", got, err)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "/h")
	if got, err := StateRoot(); err != nil || got != "/h/.local/state/fairlead/clusters" {
		t.Errorf("without: %q, %v", got, err)
	}
}

func TestMissingPackages(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	got := missingPackages([]requirement{{"a", no}, {"b", yes}, {"c", no}})
	if strings.Join(got, " ") != "a c" {
		t.Errorf("missing %v, want a and c", got)
	}
}
