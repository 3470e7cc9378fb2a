package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// How long a server may take, in a suite that shares two cores with everything else.
const (
	readyWithin = 30 * time.Second
	stopWithin  = 15 * time.Second
	pollEvery   = 5 * time.Millisecond
)

// Command describes a server to start.
type Command struct {
	Name  string       // what messages call it
	Path  string       // the binary
	Args  []string     // without the binary's name
	Env   []string     // added to this process's environment
	Dir   string       // working folder; the log, server.log, is written there; "" is a new temporary one
	Ready func() error // nil once the server can be used; asked every few milliseconds
}

// Process is a server running as a child process. Its methods fail the host's test when they do not succeed,
// and are called from the test's goroutine, one at a time.
type Process struct {
	host  Host
	spec  Command
	cmd   *exec.Cmd
	ended chan struct{} // closed when the child has ended and was reaped
}

// Start starts a server and returns when it is ready. It is killed when the test ends.
func Start(host Host, spec Command) *Process {
	host.Helper()
	p := newProcess(host, spec)
	p.launch()
	p.AwaitReady()
	return p
}

func newProcess(host Host, spec Command) *Process {
	if spec.Dir == "" {
		spec.Dir = host.TempDir()
	}
	p := &Process{host: host, spec: spec}
	host.Cleanup(func() {
		p.kill()
		if host.Failed() {
			host.Logf("%s, end of its log:\n%s", p.spec.Name, p.logTail())
		}
	})
	return p
}

// launch starts the child and does not wait for it to be ready.
func (p *Process) launch() {
	p.host.Helper()
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.host.Fatalf("%s: %v", p.spec.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(p.spec.Path, p.spec.Args...) //nolint:noctx // it ends by Kill, Stop or the cleanup
	cmd.Dir, cmd.Env = p.spec.Dir, append(os.Environ(), p.spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The kernel ends the child when the thread that started it ends, not when the process does.
		// So one thread starts the child and stays until it has reaped it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		p.host.Fatalf("%s: %v", p.spec.Name, err)
	}
	p.cmd, p.ended = cmd, ended
}

var errPortTaken = errors.New("somebody else took the port")

// ready waits until the server can be used. errPortTaken means that another port may do.
func (p *Process) ready() error {
	late := time.After(readyWithin)
	for {
		err := p.spec.Ready()
		if err == nil && p.Running() {
			return nil
		}
		select {
		case <-p.ended:
			tail := p.logTail()
			if strings.Contains(strings.ToLower(tail), "address already in use") {
				return errPortTaken
			}
			return fmt.Errorf("%s ended before it was ready:\n%s", p.spec.Name, tail)
		case <-late:
			return fmt.Errorf("%s was not ready within %v: %w\n%s", p.spec.Name, readyWithin, err, p.logTail())
		case <-time.After(pollEvery):
		}
	}
}

// AwaitReady returns when the server can be used.
func (p *Process) AwaitReady() {
	p.host.Helper()
	if err := p.ready(); err != nil {
		p.host.Fatalf("%v", err)
	}
}

// Dir is the server's working folder. Between Kill and Restart a test may put other files there.
func (p *Process) Dir() string { return p.spec.Dir }

// PID is the process id of the child, also after it ended.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Running reports whether the child has not ended. A frozen one is running.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Ended is closed when the child has ended, whoever ended it.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// ExitCode is how the child ended: 0 is well, -1 by a signal or not yet.
func (p *Process) ExitCode() int {
	if p.Running() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// Log is everything the server has logged, over all its restarts.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (p *Process) logPath() string { return filepath.Join(p.spec.Dir, "server.log") }

func (p *Process) logTail() string {
	const most = 4 << 10
	text := p.Log()
	return text[max(0, len(text)-most):]
}

func (p *Process) signal(s syscall.Signal) {
	p.host.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.host.Fatalf("%s: %v: %v", p.spec.Name, s, err)
	}
}
