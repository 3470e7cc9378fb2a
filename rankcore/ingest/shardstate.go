package ingest

import (
	"time"

	"rankgate/rankcore"
)

// state is what the applier knows of a shard.
type state uint8

const (
	unknown   state = iota // its position is not known, or not proven
	following              // everything for it up to the cursor is sent, or known not to be there
	ahead                  // beyond the cursor, at a position not met yet
	catching               // being fed from its own position
	rebuild                // the log does not reach back to it: it stands still and says so
	numStates
)

func (s state) String() string {
	return [numStates]string{"unknown", "following", "ahead", "catching_up", "rebuild_needed"}[s]
}

// shard is what the applier holds of one shard. It is memory only: the shard itself knows where it is.
type shard struct {
	state   state
	pos     rankcore.Position // as it last answered
	lost    bool              // a `lost` record was read since pos: the next step passes it on
	flag    bool              // the shard's own lost flag, as it last answered
	damaged bool              // with rebuild: it is not whole, rather than behind the log's front

	retry time.Time     // when unknown: not before
	delay time.Duration // how long the next failure waits
}

// Bounds of the pause between two tries to catch a shard up.
const (
	firstDelay = 100 * time.Millisecond
	maxDelay   = 400 * time.Millisecond
)

// failed sets the shard aside for a while that grows while it keeps failing.
func (s *shard) failed(now time.Time) {
	s.state = unknown
	s.delay = min(max(2*s.delay, firstDelay), maxDelay)
	s.retry = now.Add(s.delay)
}

// astray asks for a catch-up now: the shard answers, and is not where it was expected.
func (s *shard) astray() {
	s.state, s.retry = unknown, time.Time{}
}

// answered takes in where the shard says it is.
func (s *shard) answered(r rankcore.StepResult) {
	s.pos, s.flag = r.At, r.Lost
}
