package artifact

import (
	"bytes"
	"fmt"
	"text/template"
	"time"

	_ "embed"
)

// installHint is what a person reads who has unpacked the archive.
//
//go:embed INSTALL.txt
var installHint string

// CLI is the archive of the command line for one platform.
type CLI struct {
	Version  string
	OS, Arch string
	Program  []byte
	// License and Readme are files of the repository.
	License, Readme []byte
}

// FileName is the archive's name, such as fairlead_1.2.3_linux_amd64.tar.gz; a zip for Windows.
func (c CLI) FileName() string {
	extension := "tar.gz"
	if c.windows() {
		extension = "zip"
	}
	return fmt.Sprintf("fairlead_%s_%s_%s.%s", c.Version, c.OS, c.Arch, extension)
}

func (c CLI) windows() bool { return c.OS == "windows" }

// Pack makes the archive: the program, LICENSE, README.md, INSTALL.txt, and the names under which kubectl looks for a
// plugin and for its completion, as links to the program. For Windows, where links need a privilege, the plugin's name is
// the only one that the program has.
func (c CLI) Pack(modified time.Time) ([]byte, error) {
	hint, err := c.hint()
	if err != nil {
		return nil, err
	}
	entries := []Entry{
		{Name: "LICENSE", Mode: 0o644, Content: c.License},
		{Name: "README.md", Mode: 0o644, Content: c.Readme},
		{Name: "INSTALL.txt", Mode: 0o644, Content: hint},
	}
	var out bytes.Buffer
	if c.windows() {
		entries = append(entries, Entry{Name: "kubectl-fairlead.exe", Mode: 0o755, Content: c.Program})
		err = Zip(&out, modified, entries)
		return out.Bytes(), err
	}
	entries = append(entries, Entry{Name: "fairlead", Mode: 0o755, Content: c.Program},
		Entry{Name: "kubectl-fairlead", Link: "fairlead"}, Entry{Name: "kubectl_complete-fairlead", Link: "fairlead"})
	err = TarGz(&out, modified, entries)
	return out.Bytes(), err
}

func (c CLI) hint() ([]byte, error) {
	t, err := template.New("INSTALL.txt").Parse(installHint)
	if err != nil {
		return nil, fmt.Errorf("reading INSTALL.txt: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, map[string]any{"Version": c.Version, "Windows": c.windows()}); err != nil {
		return nil, fmt.Errorf("writing INSTALL.txt: %w", err)
	}
	return out.Bytes(), nil
}
