package loadtest

import (
	"fmt"
	"math/rand/v2"

	"rankgate/rankcore"
)

// Shape says which users are asked about and written to.
type Shape string

// The shapes.
const (
	Uniform Shape = "uniform" // every user as often as any other
	Zipf    Shape = "zipf"    // few users very often, as fans and profiles are; exponent 1.1
)

// population picks users "u0" to "u<n-1>". Not safe for concurrent use.
type population struct {
	rng  *rand.Rand
	n    int
	zipf *rand.Zipf // nil: uniform
}

func newPopulation(rng *rand.Rand, n int, shape Shape) *population {
	p := &population{rng: rng, n: n}
	if shape == Zipf {
		p.zipf = rand.NewZipf(rng, 1.1, 1, uint64(n-1))
	}
	return p
}

func (p *population) pick() rankcore.UserID {
	i := uint64(0)
	if p.zipf != nil {
		i = p.zipf.Uint64()
	} else {
		i = p.rng.Uint64N(uint64(p.n))
	}
	return rankcore.UserID(fmt.Sprintf("u%d", i))
}
