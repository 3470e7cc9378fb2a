package servers

import (
	"syscall"
	"time"
)

// Kill ends the server at once (SIGKILL) and returns when it is gone. It is not a power loss: what the
// server had written is in the system's page cache and survives.
func (p *Process) Kill() {
	p.host.Helper()
	p.kill()
}

func (p *Process) kill() {
	if p.cmd == nil {
		return // it never started
	}
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// Stop asks the server to end (SIGTERM) and returns when it is gone. A frozen server is thawed for it.
func (p *Process) Stop() {
	p.host.Helper()
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT)
	select {
	case <-p.ended:
	case <-time.After(stopWithin):
		p.host.Fatalf("%s did not end within %v of SIGTERM", p.spec.Name, stopWithin)
	}
}

// Restart starts the server again on the same ports and files, stopping it first if it runs, and
// returns when it is ready.
func (p *Process) Restart() {
	p.host.Helper()
	p.Relaunch()
	p.AwaitReady()
}

// Relaunch is Restart without the wait, for a member of a cluster that is not ready without the others;
// AwaitReady waits.
func (p *Process) Relaunch() {
	p.host.Helper()
	if p.Running() {
		p.Stop()
	}
	p.launch()
}

// Freeze suspends the server (SIGSTOP): its sockets stay open and nothing answers. It returns when the
// server has come to a halt.
func (p *Process) Freeze() {
	p.host.Helper()
	p.signal(syscall.SIGSTOP)
	late := time.After(stopWithin)
	for p.Running() && !halted(p.PID()) {
		select {
		case <-late:
			p.host.Fatalf("%s did not halt within %v of SIGSTOP", p.spec.Name, stopWithin)
		case <-time.After(pollEvery):
		}
	}
}

// Thaw lets a frozen server go on (SIGCONT). It knows nothing of the time it lost.
func (p *Process) Thaw() {
	p.host.Helper()
	p.signal(syscall.SIGCONT)
}
