package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

// ErrNotRoot is returned when nodes are wanted by a user who cannot have them.
var ErrNotRoot = errors.New("real nodes need root, for containers, a network bridge and cgroups: run this as root")

// requirement is a program that nodes need and the Debian package that has it.
type requirement struct {
	pkg   string
	found func() bool
}

var requirements = []requirement{
	{"containerd", onPath("containerd", "containerd-shim-runc-v2")},
	{"runc", onPath("runc")},
	{"containernetworking-plugins", func() bool { _, err := cniPlugins(); return err == nil }},
	{"iptables", onPath("iptables")},
	{"iproute2", onPath("ip")},
	{"busybox-static", func() bool { _, err := os.Stat(Busybox); return err == nil }},
}

// Busybox is where Debian's package busybox-static puts its program; test images have it too.
const Busybox = "/bin/busybox"

func onPath(programs ...string) func() bool {
	return func() bool {
		for _, p := range programs {
			if _, err := process.LookPath(p); err != nil {
				return false
			}
		}
		return true
	}
}

// cniPlugins finds the folder with the network plugins: Debian's, or the one that upstream's archives use.
func cniPlugins() (string, error) {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no CNI plugins in /usr/lib/cni or /opt/cni/bin")
}

// missingPackages lists the packages whose programs are not found, in the order of the table.
func missingPackages(table []requirement) []string {
	var missing []string
	for _, r := range table {
		if !r.found() {
			missing = append(missing, r.pkg)
		}
	}
	return missing
}

// Preflight says what this machine lacks for a level, and how to get it. The error is ErrNotRoot without root.
func Preflight(level Level) error {
	if level != LevelReal {
		return nil
	}
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	if missing := missingPackages(requirements); len(missing) > 0 {
		return fmt.Errorf("programs are missing. On Debian: apt-get install -y --no-install-recommends %s\n(the flag --install does that too)",
			strings.Join(missing, " "))
	}
	return nil
}

// InstallPackages installs the Debian packages that nodes need and that are missing.
func InstallPackages(ctx context.Context, log io.Writer) error {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	missing := missingPackages(requirements)
	if len(missing) == 0 {
		return nil
	}
	_, _ = fmt.Fprintf(log, "installing the packages %s\n", strings.Join(missing, " "))
	for _, args := range [][]string{{"update", "-q"}, append([]string{"install", "-y", "-q", "--no-install-recommends"}, missing...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("running apt-get %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}
