package servers

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// childAttributes make the child die with its parent, even when that is killed, and keep a Ctrl-C meant
// for the parent from it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// halted reports whether the process is stopped by a signal.
func halted(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := bytes.Cut(stat, []byte(") "))
	return err != nil || !found || state[0] == 'T'
}
