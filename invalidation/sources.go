package invalidation

import (
	"math"
	"time"
)

const (
	maxSources = 64
	unknown    = math.MaxUint64
)

// sources is the newest number of each source. It is bounded: the one silent for longest is forgotten, and
// when it speaks again it is a source heard for the first time.
type sources map[string]*source

type source struct {
	n     uint64
	heard time.Time
}

// heard takes note of n. It returns how many messages were missed before it, unknown when the source is new
// here and did not just begin, and whether n is newer than what was heard before.
func (s sources) heard(n number, now time.Time) (missed uint64, newer bool) {
	known := s[n.Source]
	switch {
	case known == nil:
		if len(s) >= maxSources {
			s.forgetOne()
		}
		s[n.Source] = &source{n: n.N, heard: now}
		if n.N > 1 {
			return unknown, true
		}
		return 0, true
	case n.N <= known.n:
		return 0, false
	}
	missed = n.N - known.n - 1
	known.n, known.heard = n.N, now
	return missed, true
}

func (s sources) forgetOne() {
	var oldest string
	for name, src := range s {
		if oldest == "" || src.heard.Before(s[oldest].heard) {
			oldest = name
		}
	}
	delete(s, oldest)
}
