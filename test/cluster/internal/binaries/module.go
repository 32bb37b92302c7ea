package binaries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// moduleLayout names how renderModule makes go.mod; it is part of the pin, so change it with renderModule.
const moduleLayout = "staging-as-releases-v1"

// etcdPackage is the etcd server's main package. Its version is the one that the Kubernetes release requires.
const etcdPackage = "go.etcd.io/etcd/server/v3"

// goMod is what `go mod edit -json` prints, as far as it is of interest.
type goMod struct {
	Go      string
	Godebug []struct{ Key, Value string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// writeModule downloads the Kubernetes module and writes a module into dir that can build its programs.
func writeModule(ctx context.Context, dir, kubernetes string, log io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	say(log, "fetching the module k8s.io/kubernetes v%s", kubernetes)
	out, failed := runGo(ctx, dir, nil, "mod", "download", "-json", "k8s.io/kubernetes@v"+kubernetes)
	var download struct{ GoMod, Error string }
	if err := json.Unmarshal(out, &download); err != nil {
		return fmt.Errorf("fetching Kubernetes %s: %w", kubernetes, errors.Join(failed, err))
	}
	if failed != nil {
		return fmt.Errorf("fetching Kubernetes %s (is it a released version?): %w: %s", kubernetes, failed, download.Error)
	}
	out, err := runGo(ctx, dir, nil, "mod", "edit", "-json", download.GoMod)
	if err != nil {
		return fmt.Errorf("reading the go.mod of Kubernetes %s: %w", kubernetes, err)
	}
	var upstream goMod
	if err := json.Unmarshal(out, &upstream); err != nil {
		return fmt.Errorf("reading the answer of go mod edit: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "go.mod"), []byte(renderModule(kubernetes, upstream)), 0o644)
}

// renderModule writes a go.mod that requires k8s.io/kubernetes. That module replaces its staging modules by
// folders of its own repository; a module that requires it must name their releases instead: v0.x of v1.x.
// The go and godebug lines are upstream's, so that the programs run with the settings they are released with.
func renderModule(kubernetes string, upstream goMod) string {
	var b strings.Builder
	fmt.Fprintf(&b, "module fairlead.test/kubernetes\n\ngo %s\n\n", upstream.Go)
	for _, d := range upstream.Godebug {
		fmt.Fprintf(&b, "godebug %s=%s\n\n", d.Key, d.Value)
	}
	fmt.Fprintf(&b, "require k8s.io/kubernetes v%s\n\nreplace (\n", kubernetes)
	_, minorAndPatch, _ := strings.Cut(kubernetes, ".")
	var lines []string
	for _, r := range upstream.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") {
			lines = append(lines, fmt.Sprintf("\t%s => %s v0.%s\n", r.Old.Path, r.Old.Path, minorAndPatch))
		}
	}
	sort.Strings(lines)
	fmt.Fprintf(&b, "%s)\n", strings.Join(lines, ""))
	return b.String()
}
