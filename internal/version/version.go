// Package version says which Fairlead this is.
package version

import (
	"cmp"
	"runtime/debug"
)

// version is set by the linker: -X github.com/fairlead-io/fairlead/internal/version.version=v1.2.3.
var version string

// String is the version that the build set; else the one that Go recorded for the module; else "devel" with the commit
// if it is known.
func String() string {
	info, _ := debug.ReadBuildInfo()
	return of(version, info)
}

func of(linked string, info *debug.BuildInfo) string {
	if linked != "" || info == nil {
		return cmp.Or(linked, "devel")
	}
	if module := info.Main.Version; module != "" && module != "(devel)" {
		return module
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return "devel-" + setting.Value[:min(12, len(setting.Value))]
		}
	}
	return "devel"
}
