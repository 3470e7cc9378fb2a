//go:build unix

package servers

import (
	"os/signal"
	"syscall"
)

// FullDisk makes the kernel break off every write of this process to a file at so many bytes, as a full disk does, until
// the host's test ends or room is called. It is the whole process's limit, so nothing else may run beside it.
func FullDisk(host Host, bytes uint64) (room func()) {
	host.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		host.Fatalf("the limit of file sizes: %v", err)
	}
	limit := func(l syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			host.Fatalf("the limit of file sizes: %v", err)
		}
	}
	limit(syscall.Rlimit{Cur: bytes, Max: was.Max})
	room = func() { limit(was) }
	host.Cleanup(room)
	return room
}
