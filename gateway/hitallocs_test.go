//go:build !race

// The race detector makes pools forget, and what they forget is allocated anew.

package gateway

import (
	"testing"

	"github.com/gofiber/fiber/v2"
)

// An answer out of memory costs no allocation, from the request's bytes to the answer's.
func TestHitAllocatesNothing(t *testing.T) {
	d := newDirect(newHot(t, 64<<20).App())
	tag := string(d.warm(t, []byte(topURI)).Header.Peek(fiber.HeaderETag))
	for _, h := range askedHits(100, tag) {
		for _, uri := range h.uris {
			d.warm(t, uri, h.headers...)
		}
		asked := 0
		allocs := testing.AllocsPerRun(1000, func() {
			d.ask(h.uris[asked%len(h.uris)], h.headers...)
			asked++
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", h.name, allocs)
		}
	}
}
