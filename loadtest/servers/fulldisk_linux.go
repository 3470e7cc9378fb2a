package servers

import "golang.org/x/sys/unix"

// FullDisk does to a process that runs what the function of this name does to this one.
func (p *Process) FullDisk(bytes uint64) (room func()) {
	p.host.Helper()
	var was unix.Rlimit
	limit := func(to, old *unix.Rlimit) {
		if err := unix.Prlimit(p.PID(), unix.RLIMIT_FSIZE, to, old); err != nil {
			p.host.Fatalf("the limit of file sizes of %s: %v", p.spec.Name, err)
		}
	}
	limit(nil, &was)
	limit(&unix.Rlimit{Cur: bytes, Max: was.Max}, nil)
	return func() { limit(&was, nil) }
}
