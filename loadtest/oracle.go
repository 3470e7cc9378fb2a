package loadtest

import (
	"sync"
	"time"

	"rankgate/rankcore"
)

// Oracle knows what a board must show after the operations it was told of: a sequential fold in maps. It is
// told each acknowledged operation once, with the ones of a user in the order in which they were acknowledged.
// Operations of different users may come in any order, since no user's score depends on another's. So a
// workload in which every user has one writer needs no look into the log. Safe for concurrent use.
type Oracle struct {
	board *rankcore.Board

	mu      sync.Mutex // guards all below
	seasons map[rankcore.SeasonID]*oracleSeason
	hidden  map[rankcore.UserID]bool
	users   map[rankcore.UserID]bool                // everybody ever named
	memory  map[rankcore.UserID]map[string]opMemory // by id
	doubt   *Doubt                                  // nil: none
	moment  int64                                   // counts what was sent and what was acknowledged
	told    int64                                   // operations of which is known how they were sent
}

type oracleSeason struct {
	span
	scores  map[rankcore.UserID]int64
	arrived map[rankcore.UserID]arrival // those with a score, when they reached it
}

type opMemory struct {
	stored time.Time
	op     rankcore.Op
}

// NewOracle returns the oracle of an empty board.
func NewOracle(b *rankcore.Board) *Oracle {
	return &Oracle{
		board: b, seasons: map[rankcore.SeasonID]*oracleSeason{}, hidden: map[rankcore.UserID]bool{},
		users: map[rankcore.UserID]bool{}, memory: map[rankcore.UserID]map[string]opMemory{},
	}
}

// Apply folds one acknowledged operation. stored is when the log took it, for which the time of its
// acknowledgement does: what depends on the difference, such as an id sent again right at the horizon or an
// operation without a time around midnight, has no place in a workload.
//
// Where whoever came first stands ahead, only Sending tells who did.
func (o *Oracle) Apply(op rankcore.Op, stored time.Time) rankcore.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.apply(op, stored, unknownArrival)
}

func (o *Oracle) apply(op rankcore.Op, stored time.Time, arrived arrival) rankcore.Outcome {
	o.users[op.User] = true
	if o.doubt != nil {
		o.doubt.ops[op.User] = append(o.doubt.ops[op.User], storedOp{op, stored})
	}
	if op.ID != "" {
		if o.memory[op.User] == nil {
			o.memory[op.User] = map[string]opMemory{}
		}
		if m, ok := o.memory[op.User][op.ID]; ok && stored.Sub(m.stored).Abs() <= o.board.Dedupe {
			if m.op.Kind == op.Kind && m.op.Value == op.Value && m.op.At.Equal(op.At) {
				return rankcore.Duplicate
			}
			return rankcore.Conflict
		}
		o.memory[op.User][op.ID] = opMemory{stored, op}
	}
	changed := false
	switch op.Kind {
	case rankcore.OpHide, rankcore.OpShow:
		hide := op.Kind == rankcore.OpHide
		changed = o.hidden[op.User] != hide
		o.hidden[op.User] = hide
	case rankcore.OpRemove:
		changed = o.remove(op.User, stored)
	default:
		var inRange bool
		if changed, inRange = o.score(op, stored, arrived); !inRange {
			return rankcore.OutOfRange
		}
	}
	if changed {
		return rankcore.Applied
	}
	return rankcore.Unchanged
}

func (o *Oracle) remove(u rankcore.UserID, stored time.Time) (changed bool) {
	changed = o.hidden[u]
	delete(o.hidden, u)
	for _, s := range o.seasons {
		if _, ranked := s.scores[u]; ranked && s.keptAt(stored) {
			delete(s.scores, u)
			delete(s.arrived, u)
			changed = true
		}
	}
	return changed
}

// score changes the user's score in every kept season that contains the operation, or in none if it
// would leave the range in one of them.
func (o *Oracle) score(op rankcore.Op, stored time.Time, arrived arrival) (changed, inRange bool) {
	at := op.At
	if at.IsZero() {
		at = stored
	}
	result := map[*oracleSeason]int64{}
	for _, kind := range o.board.Seasons {
		s := o.season(spanOf(o.board, kind, at))
		if !s.keptAt(stored) {
			continue
		}
		old, ranked := s.scores[op.User]
		score := int64(op.Value)
		if op.Kind == rankcore.OpAdd {
			score += old
		}
		if op.Kind == rankcore.OpBest && ranked && !o.ahead(score, old) {
			score = old
		}
		if score > 1<<53-1 || score < -(1<<53-1) {
			return false, false
		}
		changed = changed || !ranked || score != old
		result[s] = score
	}
	for s, score := range result {
		if old, ranked := s.scores[op.User]; !ranked || old != score {
			s.scores[op.User], s.arrived[op.User] = score, arrived
		}
	}
	return changed, true
}

func (o *Oracle) season(s span) *oracleSeason {
	if o.seasons[s.id] == nil {
		o.seasons[s.id] = &oracleSeason{s, map[rankcore.UserID]int64{}, map[rankcore.UserID]arrival{}}
	}
	return o.seasons[s.id]
}

// ahead reports whether score a stands before score b on the board.
func (o *Oracle) ahead(a, b int64) bool {
	if o.board.Order == rankcore.Asc {
		return a < b
	}
	return a > b
}
