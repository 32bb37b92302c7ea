package process

import (
	"os"
	"os/exec"
	"path/filepath"
)

// adminPath is where administrators' programs are. Root's PATH lacks it where root was become by a plain `su`.
const adminPath = "/usr/local/sbin:/usr/sbin:/sbin"

// LookPath finds a program on the PATH or among the administrators' programs.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	for _, dir := range filepath.SplitList(adminPath) {
		if found, missing := exec.LookPath(filepath.Join(dir, name)); missing == nil {
			return found, nil
		}
	}
	return "", err
}

// searchPath is the PATH that programs get.
func searchPath() string { return os.Getenv("PATH") + string(os.PathListSeparator) + adminPath }
