package loadtest

import (
	"errors"
	"fmt"
	"io"
	"os"

	"rankgate/loadtest/servers"
)

// hosted is a servers.Host outside of a test: it prints to a writer, keeps its folders below one, and turns
// Fatalf into an error of withHost. Not safe for concurrent use.
type hosted struct {
	out      io.Writer
	dir      string
	failed   bool
	cleanups []func()
}

var _ servers.Host = (*hosted)(nil)

// fatal is what Fatalf panics with, to end the function that cannot go on.
type fatal struct{ error }

// withHost calls f with a host and cleans up behind it, whatever f does. When it fails the files stay.
func withHost(out io.Writer, f func(*hosted) error) (err error) {
	dir, err := os.MkdirTemp("", "rankgate-loadtest-")
	if err != nil {
		return err
	}
	h := &hosted{out: out, dir: dir}
	defer func() {
		h.failed = h.failed || err != nil
		for len(h.cleanups) > 0 { // a cleanup may add another
			last := len(h.cleanups) - 1
			cleanup := h.cleanups[last]
			h.cleanups = h.cleanups[:last]
			cleanup()
		}
		if h.failed {
			h.Logf("the servers' files are kept in %s", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case fatal:
			err = thrown.error
		default:
			panic(thrown)
		}
	}()
	return f(h)
}

func (h *hosted) Helper()                         {}
func (h *hosted) Failed() bool                    { return h.failed }
func (h *hosted) Cleanup(f func())                { h.cleanups = append(h.cleanups, f) }
func (h *hosted) Logf(format string, args ...any) { fmt.Fprintf(h.out, format+"\n", args...) }

func (h *hosted) Fatalf(format string, args ...any) {
	panic(fatal{fmt.Errorf(format, args...)})
}

func (h *hosted) TempDir() string {
	dir, err := os.MkdirTemp(h.dir, "")
	if err != nil {
		h.Fatalf("%v", err)
	}
	return dir
}
