package memstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// Config is what a Store needs.
type Config struct {
	Dir        string                // where checkpoints are kept, of this store alone; empty: none are
	Boards     []*rankcore.Board     // to be loaded by New
	Log        *slog.Logger          // nil: slog's default
	Registerer prometheus.Registerer // nil: no metrics
}

// Store is the shards of some boards, in this process. Its methods are safe for concurrent use; reads go
// on while steps are applied and checkpoints are written. It implements rankcore.Reader.
type Store struct {
	dir     string
	log     *slog.Logger
	metrics *metrics

	// mu guards boards and saved. Held while a board's checkpoints are loaded, so that they are loaded once.
	mu     sync.RWMutex
	boards map[rankcore.BoardID]*board
	saved  []saving // only appended to
}

// board is one board's shards.
type board struct {
	*whole
	def    *rankcore.Board
	shards []*shard
	files  []*file // of each shard; nil without a folder
}

// assemble counts what the shards have together.
func (bd *board) assemble() {
	for _, sh := range bd.shards {
		for id, part := range sh.seasons {
			bd.join(id, part)
		}
	}
}

// New loads the boards from their newest good checkpoints; a shard without one is empty, at position none.
// It fails when a folder or file cannot be read, and when checkpoints were written with another layout.
func New(cfg Config) (*Store, error) {
	s := &Store{dir: cfg.Dir, log: cfg.Log, metrics: newMetrics(cfg.Registerer), boards: map[rankcore.BoardID]*board{}}
	if s.log == nil {
		s.log = slog.Default()
	}
	if err := s.prepareDir(); err != nil {
		return nil, err
	}
	var errs []error
	for _, b := range cfg.Boards {
		if _, err := s.board(b); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// board is the board of that definition, loaded on first use.
func (s *Store) board(b *rankcore.Board) (*board, error) {
	s.mu.RLock()
	bd := s.boards[b.ID]
	s.mu.RUnlock()
	if bd == nil {
		var err error
		if bd, err = s.load(b); err != nil {
			return nil, err
		}
	}
	if d := bd.def; d.Shards != b.Shards || d.Order != b.Order || d.Ties != b.Ties {
		return nil, fmt.Errorf("board %q: asked for %d shards, %v, ties %v, but it has %d, %v, ties %v",
			b.ID, b.Shards, b.Order, b.Ties, d.Shards, d.Order, d.Ties)
	}
	return bd, nil
}

func (s *Store) load(b *rankcore.Board) (*board, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bd := s.boards[b.ID]; bd != nil {
		return bd, nil
	}
	if _, err := rankcore.ParseBoardID(string(b.ID)); err != nil {
		return nil, fmt.Errorf("board %q: %w", b.ID, err)
	}
	bd, err := s.loadShards(b)
	if err != nil {
		return nil, fmt.Errorf("board %q: %w", b.ID, err)
	}
	s.boards[b.ID] = bd
	for i, f := range bd.files {
		s.saved = append(s.saved, saving{bd.shards[i], f})
	}
	return bd, nil
}

// reading is the board a reader asks for.
func (s *Store) reading(ctx context.Context, b *rankcore.Board) (*board, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	bd, err := s.board(b)
	if err != nil {
		return nil, &rankcore.Unavailable{Reason: rankcore.CoreDown, Cause: err}
	}
	return bd, nil
}

// Positions tells where every shard of the board is, in order: StepAt, or StepFailed.
func (s *Store) Positions(_ context.Context, b *rankcore.Board) []rankcore.StepResult {
	results := make([]rankcore.StepResult, b.Shards)
	bd, err := s.board(b)
	for i := range results {
		if err != nil {
			results[i] = rankcore.StepResult{State: rankcore.StepFailed, Err: err}
			continue
		}
		results[i] = bd.shards[i].where()
	}
	return results
}

// Apply takes at most one step for each shard and answers each in order. It does not wait, so ctx is
// asked between steps only.
func (s *Store) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	results := make([]rankcore.StepResult, len(steps))
	bd, err := s.board(b)
	for i := range steps {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			results[i] = rankcore.StepResult{State: rankcore.StepFailed, Err: err}
		case steps[i].Shard < 0 || steps[i].Shard >= len(bd.shards):
			results[i] = rankcore.StepResult{State: rankcore.StepFailed, Err: noShard(b, steps[i].Shard)}
		default:
			results[i] = bd.shards[steps[i].Shard].apply(&steps[i])
		}
	}
	return results
}

func noShard(b *rankcore.Board, shard int) error {
	return fmt.Errorf("board %q has no shard %d", b.ID, shard)
}

// Reset empties a shard that is not whole. A shard here is changed as one and loaded as one, so it always
// is whole, and nothing is done.
func (s *Store) Reset(_ context.Context, b *rankcore.Board, shard int) error {
	if _, err := s.board(b); err != nil {
		return err
	}
	if shard < 0 || shard >= b.Shards {
		return noShard(b, shard)
	}
	return nil
}

// Outcomes tells from the id memory what became of operations, in order: Applied, Unchanged, OutOfRange;
// Conflict when the id was used for something else; OutcomeUnknown when it has no id or is not remembered.
func (s *Store) Outcomes(_ context.Context, b *rankcore.Board, ops []rankcore.Op) ([]rankcore.Outcome, error) {
	bd, err := s.board(b)
	if err != nil {
		return nil, err
	}
	outcomes := make([]rankcore.Outcome, len(ops))
	for i := range ops {
		if ops[i].ID != "" {
			outcomes[i] = bd.shards[b.Shard(ops[i].User)].outcome(&ops[i])
		}
	}
	return outcomes, nil
}
