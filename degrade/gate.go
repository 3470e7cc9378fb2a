package degrade

import (
	"context"
	"errors"
	"time"

	"rankgate/rankcore"
)

var (
	errShed      = &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: errors.New("too many questions at once")}
	errAbandoned = errors.New("the caller left")
)

// gate bounds how many questions the core has at one time. Who finds it full waits a little, for bursts of
// short questions, and is then shed: a queue before a slow core only makes everybody's answer late.
type gate struct {
	places   chan struct{}
	patience time.Duration
}

func newGate(places int, patience time.Duration) *gate {
	return &gate{places: make(chan struct{}, places), patience: patience}
}

// enter reports whether there was a place. Each true needs one leave.
func (g *gate) enter(ctx context.Context) bool {
	select {
	case g.places <- struct{}{}:
		return true
	default:
	}
	patience := time.NewTimer(g.patience)
	defer patience.Stop()
	select {
	case g.places <- struct{}{}:
		return true
	case <-patience.C:
		return false
	case <-ctx.Done():
		return false
	}
}

func (g *gate) leave() { <-g.places }
