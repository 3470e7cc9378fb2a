package memstore

import (
	"fmt"
	"strings"

	"rankgate/rankcore"
)

// prepared is what can be worked out about an operation before the shard is locked.
type prepared struct {
	hash   uint32 // of the user
	digest uint32
	key    rankcore.OpKey
}

// move is a score that an operation gives a user in one season.
type move struct {
	season *season          // nil: the shard does not have it yet
	in     *rankcore.Season // the season as the operation names it
	ref    uint32           // of the member; 0: not ranked yet, or hidden
	to     reached
}

// apply takes a step, or changes nothing (rankcore/ingest/PROTOCOL.md, "A step").
func (s *shard) apply(step *rankcore.Step) rankcore.StepResult {
	ready, err := s.prepare(step.Ops)
	if err != nil {
		return rankcore.StepResult{State: rankcore.StepFailed, Err: err}
	}
	s.whole.mu.Lock()
	defer s.whole.mu.Unlock()
	if s.position != step.From {
		return s.at()
	}
	result := rankcore.StepResult{State: rankcore.StepApplied, At: step.To, Lost: s.lost}
	if step.From == step.To && len(step.Ops) == 0 { // an audit
		return result
	}
	if err := s.room(step.Ops); err != nil {
		return rankcore.StepResult{State: rankcore.StepFailed, Err: err}
	}
	if step.To.Seq < step.From.Seq {
		s.renumber(step.To)
	}
	s.warm(step.Ops, ready)
	result.Outcomes = make([]rankcore.Outcome, len(step.Ops))
	for i := range step.Ops {
		result.Outcomes[i] = s.take(&step.Ops[i], &ready[i], step.To)
	}
	s.retire(step.To)
	s.ids.forget(s.board.ForgetBefore(step.To))
	s.lost = s.lost || step.Lost
	s.position = step.To
	result.Lost = s.lost
	return result
}

// prepare hashes what the operations name, and refuses a step that no shard can hold.
func (s *shard) prepare(ops []rankcore.PlacedOp) ([]prepared, error) {
	ready := make([]prepared, len(ops))
	for i := range ops {
		op := &ops[i]
		if len(op.User) == 0 || len(op.User) > rankcore.MaxUserBytes {
			return nil, fmt.Errorf("operation %d: a user id of %d bytes", i, len(op.User))
		}
		ready[i].hash = s.hash(op.User)
		if op.ID != "" {
			ready[i].key, ready[i].digest = op.Key(), op.Digest()
		}
	}
	return ready, nil
}

// room makes sure that no operation can fail half way for want of references.
func (s *shard) room(ops []rankcore.PlacedOp) error {
	for id, se := range s.seasons {
		if !se.arena.hasRoom(len(ops)) {
			return fmt.Errorf("season %s of shard %d of board %q is full: the board needs more shards", id, s.index, s.board.ID)
		}
	}
	return nil
}

// renumber tells readers of a new log, whose sequence numbers begin again below the old ones, that every
// season changed: versions of the old log would stand above all that follow.
func (s *shard) renumber(to rankcore.Position) {
	for _, se := range s.seasons {
		se.changed = to
	}
}

// take works out one operation and remembers its id (R3).
func (s *shard) take(op *rankcore.PlacedOp, p *prepared, to rankcore.Position) rankcore.Outcome {
	if op.ID == "" {
		return s.execute(op, p.hash, to)
	}
	if stored, r := s.ids.recall(&p.key); r != nil && max(op.Stored-stored, stored-op.Stored) <= s.board.Dedupe.Milliseconds() {
		if r.digest == p.digest {
			return rankcore.Duplicate
		}
		return rankcore.Conflict
	}
	outcome := s.execute(op, p.hash, to)
	s.ids.remember(&p.key, op.Stored, p.digest, outcome)
	return outcome
}

func (s *shard) execute(op *rankcore.PlacedOp, hash uint32, to rankcore.Position) rankcore.Outcome {
	changed := false
	switch op.Kind {
	case rankcore.OpRemove:
		changed = s.remove(op, hash, to)
	case rankcore.OpHide:
		changed = s.hide(op, hash, to)
	case rankcore.OpShow:
		changed = s.show(op, hash, to)
	default:
		return s.score(op, hash, to)
	}
	if changed {
		return rankcore.Applied
	}
	return rankcore.Unchanged
}

// score works out add, set and best for every season of the operation, then writes all or none.
func (s *shard) score(op *rankcore.PlacedOp, hash uint32, to rankcore.Position) rankcore.Outcome {
	_, hidden := s.hidden[op.User]
	s.moves = s.moves[:0]
	for i := range op.Seasons {
		m := move{in: &op.Seasons[i], season: s.seasons[op.Seasons[i].ID]}
		old, had := m.look(op.User, hash, hidden)
		m.to = reached{s.next(op, old, had), op.Arrival}
		if !m.to.score.InRange() {
			return rankcore.OutOfRange
		}
		if !had || m.to.score != old {
			s.moves = append(s.moves, m)
		}
	}
	for i := range s.moves {
		s.write(&s.moves[i], op.User, hash, hidden, to)
	}
	if len(s.moves) == 0 {
		return rankcore.Unchanged
	}
	return rankcore.Applied
}

// look finds the score that the user has now, and its record.
func (m *move) look(user rankcore.UserID, hash uint32, hidden bool) (old rankcore.Score, had bool) {
	switch {
	case m.season == nil:
		return 0, false
	case hidden:
		at, had := m.season.aside[user]
		return at.score, had
	}
	if m.ref = m.season.ref(hash, user); m.ref == 0 {
		return 0, false
	}
	return m.season.arena.score(m.ref), true
}

// next is the score that the operation makes of an old one.
func (s *shard) next(op *rankcore.PlacedOp, old rankcore.Score, had bool) rankcore.Score {
	switch {
	case op.Kind == rankcore.OpAdd:
		return old + op.Value
	case op.Kind == rankcore.OpBest && had && !s.board.Order.Better(op.Value, old):
		return old
	}
	return op.Value
}

func (s *shard) write(m *move, user rankcore.UserID, hash uint32, hidden bool, to rankcore.Position) {
	if m.season == nil {
		m.season = newSeason(s.board.Order, s.board.Ties, m.in.Kind, m.in.Expires.UnixMilli())
		s.seasons[m.in.ID] = m.season
		s.whole.join(m.in.ID, m.season)
	}
	switch {
	case hidden:
		m.season.aside[rankcore.UserID(strings.Clone(string(user)))] = m.to
		return // readers see no change
	case m.ref != 0:
		m.season.move(m.ref, m.to)
	default:
		m.season.enter(hash, user, m.to)
	}
	m.season.changed = to
}

// remove takes the user out of every season there is and forgets that it was hidden. Only seasons still
// kept when the operation was stored count for the outcome, since when one is retired depends on batches.
func (s *shard) remove(op *rankcore.PlacedOp, hash uint32, to rankcore.Position) (changed bool) {
	_, changed = s.hidden[op.User]
	delete(s.hidden, op.User)
	for _, se := range s.seasons {
		removed, visible := se.remove(hash, op.User)
		if visible {
			se.changed = to
		}
		changed = changed || removed && se.kept(op.Stored)
	}
	return changed
}

func (s *shard) hide(op *rankcore.PlacedOp, hash uint32, to rankcore.Position) bool {
	if _, ok := s.hidden[op.User]; ok {
		return false
	}
	s.hidden[rankcore.UserID(strings.Clone(string(op.User)))] = struct{}{}
	for _, se := range s.seasons {
		if se.hide(hash, op.User) {
			se.changed = to
		}
	}
	return true
}

func (s *shard) show(op *rankcore.PlacedOp, hash uint32, to rankcore.Position) bool {
	if _, ok := s.hidden[op.User]; !ok {
		return false
	}
	delete(s.hidden, op.User)
	for _, se := range s.seasons {
		if se.show(hash, op.User) {
			se.changed = to
		}
	}
	return true
}

// retire drops the seasons whose time is up. It waits for the slack too: a message may be stored with a
// time that much before the newest, and must find its season whatever the batches are.
func (s *shard) retire(to rankcore.Position) {
	ms := to.At().Add(-rankcore.IDSlack).UnixMilli()
	for id, se := range s.seasons {
		if !se.kept(ms) {
			delete(s.seasons, id)
			s.whole.retire(id)
		}
	}
}
