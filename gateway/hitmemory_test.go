package gateway

import (
	"fmt"
	"runtime"
	"testing"
)

// Any number of different ids at full speed does not grow memory past the configured bound, the forms of their answers
// included: every id is asked for until its form is kept with it.
func TestForgottenIDsLeaveNothing(t *testing.T) {
	const bound = 16 << 20
	g := newHot(t, bound)
	d := newDirect(g.App())
	d.warm(t, []byte(topURI))
	before := heap()
	for i := range 40_000 {
		uri := fmt.Appendf(nil, rankURI, i)
		d.arrive()
		for range 2 {
			if r := d.ask(uri); r.StatusCode() != 200 {
				t.Fatalf("%s: %d", uri, r.StatusCode())
			}
		}
	}
	grown := heap() - before
	t.Logf("%.1f MiB of %d MiB", float64(grown)/(1<<20), bound>>20)
	if grown > bound {
		t.Errorf("grown by %d bytes, the bound is %d", grown, bound)
	}
	runtime.KeepAlive(g)
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // pools give up what they hold at the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
