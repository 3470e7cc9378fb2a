package degrade

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"rankgate/rankcore"
)

var (
	errShed      = &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: errors.New("too many questions at once")}
	errAbandoned = errors.New("the caller left")
)

// A gate begins with firstPlaces and never has fewer than fewPlaces, however slow the core is.
const (
	fewPlaces   = 16
	firstPlaces = 64
)

// gate bounds how many questions the core has at one time, to about as many as it answers quickly: what is asked beyond
// that only waits, and in the end nobody's answer is in time. So there are fewer places while answers are slow, and more
// while they are quick and all places are taken: additive increase, multiplicative decrease, as TCP has it.
//
// Who finds it full waits a little, for bursts of short questions, and is then shed. A place goes to whoever has waited
// least, and so has most time left for the answer.
type gate struct {
	most     int           // places
	patience time.Duration // for a place
	slow     time.Duration // an answer that took longer

	mu      sync.Mutex // guards all below
	places  float64
	inside  int
	waiting []chan bool // the newest last; each is told whether it has got a place
	shrunk  time.Time
}

func newGate(most int, patience, slow time.Duration) *gate {
	return &gate{most: most, patience: patience, slow: slow, places: float64(min(most, firstPlaces))}
}

// enter reports whether there was a place. Each true needs one leave.
func (g *gate) enter(ctx context.Context) bool {
	place := g.line()
	if place == nil {
		return true
	}
	patience := time.NewTimer(g.patience)
	defer patience.Stop()
	select {
	case got := <-place:
		return got
	case <-patience.C:
	case <-ctx.Done():
	}
	return g.giveUp(place)
}

// line takes a place, and returns nil, or stands in line for one.
func (g *gate) line() chan bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside < int(g.places) {
		g.inside++
		return nil
	}
	place := make(chan bool, 1)
	g.waiting = append(g.waiting, place)
	if len(g.waiting) > g.most {
		g.waiting[0] <- false
		g.waiting = g.waiting[1:]
	}
	return place
}

// giveUp leaves the line, and reports whether the place was given at the same moment.
func (g *gate) giveUp(place chan bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, place); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return false
	}
	return <-place
}

// leave gives the place back after a question that took so long. well: it was answered.
func (g *gate) leave(took time.Duration, well bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.adapt(took, well, time.Now())
	g.inside--
	for g.inside < int(g.places) && len(g.waiting) > 0 {
		last := len(g.waiting) - 1
		g.waiting[last] <- true
		g.waiting = g.waiting[:last]
		g.inside++
	}
}

// adapt needs mu. Answers that were slow together count once.
func (g *gate) adapt(took time.Duration, well bool, now time.Time) {
	switch {
	case took > g.slow:
		if now.Sub(g.shrunk) >= g.slow {
			g.places = max(0.8*g.places, float64(min(g.most, fewPlaces)))
			g.shrunk = now
		}
	case well && took <= g.slow/2 && 2*g.inside > int(g.places):
		g.places = min(g.places+1/g.places, float64(g.most))
	}
}

// now is how many places there are.
func (g *gate) now() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.places
}
