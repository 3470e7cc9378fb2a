package rankcore

import "time"

// IDSlack bounds how far the log servers' clock may fall behind the newest time it ever gave (rankcore/ingest/PROTOCOL.md).
const IDSlack = time.Minute

// PlacedOp is an operation with its place: the time its message was stored, its arrival and the seasons it counts in.
// Add, set and best name their seasons, possibly none; the other kinds reach every season there is.
type PlacedOp struct {
	Op
	Stored  int64    // Unix milliseconds of its message
	Arrival Arrival  // of the scores that it gives; 0 where ties share
	Seasons []Season // shared; not modified
}

// Step is one atomic change of one shard: from one position to another, with the shard's operations of the
// messages in between, in log order. From equal to To with no operations changes nothing and audits the
// position. At most about 500 operations, never splitting a message.
type Step struct {
	Shard    int
	From, To Position
	Ops      []PlacedOp
	Lost     bool // mark the shard: it may lack what the log lost
	Moves    bool // tell what changed, for an index that follows
}

// StepState is how a step ended.
type StepState uint8

// The ends of a step.
const (
	StepFailed  StepState = iota // no answer, or an error: Err says which; it may or may not have been taken
	StepApplied                  // the shard is at To
	StepAt                       // the shard is elsewhere, at At; nothing changed
	StepDamaged                  // the shard is not whole: a key is missing, or a count differs; nothing changed
)

// StepResult answers a Step.
type StepResult struct {
	State    StepState
	At       Position  // where the shard is, for StepApplied and StepAt
	Lost     bool      // the shard's lost flag, for StepApplied and StepAt
	Outcomes []Outcome // one for each operation, for StepApplied
	// Moves are what the step changed, for StepApplied; for StepAt what the step changed that brought the shard to At,
	// so that a reply that was lost can be asked for again. Nil when the Step did not ask, the last one did not, or it
	// changed more than a shard remembers; and always from an embedded store, which has exact ranks of its own.
	Moves *Moves
	Err   error // for StepFailed
}

// ForgetBefore is the time up to which a shard at position to may forget ids: the horizon and twice the
// slack (rule R4 of rankcore/ingest/PROTOCOL.md), by log time, in Unix milliseconds.
func (b *Board) ForgetBefore(to Position) int64 {
	return to.At().Add(-b.Dedupe - 2*IDSlack).UnixMilli()
}
