//go:build unix && !linux

package servers

import "syscall"

// childAttributes keep a Ctrl-C meant for the parent from the child. Only Linux lets it die with its parent;
// elsewhere a killed test leaves its servers behind.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// halted cannot be asked in one way on all other systems; a signal is delivered soon enough.
func halted(int) bool { return true }
