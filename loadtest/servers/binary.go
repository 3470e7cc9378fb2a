package servers

import (
	"os"
	"os/exec"
	"path/filepath"
)

// findBinary is the path of a server: in PATH, else in .cache/bin of the repository that the working
// folder lies in, where `make test` puts what it builds.
func findBinary(host Host, name, install string) string {
	host.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, ".cache", "bin", name)
		if _, missing := os.Stat(path); missing == nil {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	host.Fatalf("%s is not installed: run `make test`, which does it, or %s", name, install)
	return ""
}
