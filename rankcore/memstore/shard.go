package memstore

import (
	"hash/maphash"
	"maps"

	"rankgate/rankcore"
)

// shard is one shard of a board.
type shard struct {
	board *rankcore.Board
	index int
	seed  maphash.Seed // of every table in it
	whole *whole       // whose lock guards all below, and what it leads to

	position rankcore.Position
	lost     bool
	hidden   map[rankcore.UserID]struct{}
	seasons  map[rankcore.SeasonID]*season
	ids      *memory
	moves    []move // scratch of apply
	warmth   warmth
}

func newShard(b *rankcore.Board, index int, w *whole) *shard {
	seed := maphash.MakeSeed()
	return &shard{
		board: b, index: index, seed: seed, whole: w, hidden: map[rankcore.UserID]struct{}{},
		seasons: map[rankcore.SeasonID]*season{}, ids: newMemory(b, seed),
	}
}

func (s *shard) hash(u rankcore.UserID) uint32 { return uint32(maphash.String(s.seed, string(u))) }

// at answers where the shard is. The caller holds the lock.
func (s *shard) at() rankcore.StepResult {
	return rankcore.StepResult{State: rankcore.StepAt, At: s.position, Lost: s.lost}
}

// where is at for callers without the lock.
func (s *shard) where() rankcore.StepResult {
	s.whole.mu.RLock()
	defer s.whole.mu.RUnlock()
	return s.at()
}

// outcome is what the id memory says of an operation.
func (s *shard) outcome(op *rankcore.Op) rankcore.Outcome {
	key, digest := op.Key(), op.Digest()
	s.whole.mu.RLock()
	defer s.whole.mu.RUnlock()
	_, r := s.ids.recall(&key)
	switch {
	case r == nil:
		return rankcore.OutcomeUnknown
	case r.digest != digest:
		return rankcore.Conflict
	}
	return r.outcome
}

// state is a shard at one moment, to be written to a checkpoint while the shard goes on.
type state struct {
	position rankcore.Position
	lost     bool
	hidden   map[rankcore.UserID]struct{}
	seasons  map[rankcore.SeasonID]frozenSeason
	ids      []bucket
}

type frozenSeason struct {
	kind    rankcore.SeasonKind
	expires int64
	order   rankcore.Order
	changed rankcore.Position
	ranked  tree
	aside   map[rankcore.UserID]reached
}

// freeze takes the state. Trees are shared, not copied; only hidden users, who are few, and lists of
// chunks are copied under the lock.
func (s *shard) freeze() *state {
	s.whole.mu.Lock()
	defer s.whole.mu.Unlock()
	st := &state{
		position: s.position, lost: s.lost, hidden: maps.Clone(s.hidden),
		seasons: make(map[rankcore.SeasonID]frozenSeason, len(s.seasons)),
	}
	for id, se := range s.seasons {
		names := se.arena.freeze()
		st.seasons[id] = frozenSeason{
			kind: se.kind, expires: se.expires, order: se.order, changed: se.changed,
			ranked: se.ranked.freeze(&names), aside: maps.Clone(se.aside),
		}
	}
	for _, b := range s.ids.buckets {
		st.ids = append(st.ids, b.freeze())
	}
	return st
}
