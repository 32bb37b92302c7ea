package version

import (
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123456789abcdef"}}
	for want, tt := range map[string]struct {
		linked string
		info   *debug.BuildInfo
	}{
		"v1.2.3":             {"v1.2.3", &debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}},
		"v0.1.0":             {"", &debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}, Settings: commit}},
		"devel-0123456789ab": {"", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: commit}},
		"devel":              {"", nil},
	} {
		if got := of(tt.linked, tt.info); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
