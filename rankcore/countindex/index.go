package countindex

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// Config describes an index.
type Config struct {
	Boards []*rankcore.Board
	// Leads tells whether this process applies the board now. While another may, this one's index may lack steps.
	// Nil: always.
	Leads      func(rankcore.BoardID) bool
	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // nil: no metrics
}

// Index counts the members of boards. Safe for concurrent use.
type Index struct {
	boards  map[rankcore.BoardID]*board
	leads   func(rankcore.BoardID) bool
	log     *slog.Logger
	metrics metrics
	turn    chan struct{} // one board at a time is built, so that the store's work for it is bounded
}

// New returns an index of boards. It knows nothing of them until steps pass through Follow and Run builds it.
func New(c Config) *Index {
	x := &Index{boards: make(map[rankcore.BoardID]*board, len(c.Boards)), leads: c.Leads, log: c.Logger, turn: make(chan struct{}, 1)}
	if x.leads == nil {
		x.leads = func(rankcore.BoardID) bool { return true }
	}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	for _, b := range c.Boards {
		x.boards[b.ID] = newBoard(b)
	}
	x.metrics = newMetrics(c.Registerer, x)
	return x
}

// State is how far the index of a board is.
type State struct {
	Ready   bool
	Scanned int           // of its shards
	Members int64         // over all seasons, those counted so far
	Scores  int           // distinct ones
	Bytes   int64         // of memory
	Took    time.Duration // the building; 0 until it is over
	Why     string        // it is not ready; empty when it is
}

// State tells how far the index of a board is.
func (x *Index) State(id rankcore.BoardID) State {
	b := x.boards[id]
	if b == nil {
		return State{Why: "not a board of this process"}
	}
	return b.state(time.Now(), x.leads(id))
}

// Ready reports whether questions about the board can be answered now.
func (x *Index) Ready(id rankcore.BoardID) bool { return x.State(id).Ready }

// waitAtMost bounds how long an answer waits for steps under way; asking the shards takes no longer.
const waitAtMost = 100 * time.Millisecond

// Above counts the members at and before a key. It waits for the steps that were under way when it was asked, since
// they may have happened. It fails with rankcore.ErrNotCounted, rankcore.ErrMoved or ctx's error.
func (x *Index) Above(ctx context.Context, q rankcore.AboveQuery) (rankcore.Above, error) {
	b := x.boards[q.Board.ID]
	if b == nil || !x.leads(q.Board.ID) {
		return rankcore.Above{}, rankcore.ErrNotCounted
	}
	bound := time.NewTimer(waitAtMost)
	defer bound.Stop()
	for asked := b.begun(); ; {
		above, verdict, news := b.above(q, asked, time.Now())
		switch verdict {
		case counted:
			return above, nil
		case moved:
			return above, rankcore.ErrMoved
		case notCounted:
			return above, rankcore.ErrNotCounted
		case wait:
		}
		select {
		case <-news:
		case <-bound.C:
			return above, rankcore.ErrNotCounted
		case <-ctx.Done():
			return above, ctx.Err()
		}
	}
}

// Nth is the key of the season's n-th member, from 1, as far as the index knows; false where there are not that many,
// or where it does not know. Steps under way may have moved the member: it is where to look, not what is there.
func (x *Index) Nth(_ context.Context, id rankcore.BoardID, season rankcore.SeasonID, n int64) (key int64, ok bool) {
	b := x.boards[id]
	if b == nil {
		return 0, false
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if s := b.seasons[season]; s != nil && b.ready {
		return s.counts.Nth(n)
	}
	return 0, false
}

// Segments are the members of a season by segment. Like Above it waits for steps under way.
func (x *Index) Segments(ctx context.Context, id rankcore.BoardID, season rankcore.SeasonID) (rankcore.SegmentCounts, error) {
	b := x.boards[id]
	if b == nil || !x.leads(id) {
		return rankcore.SegmentCounts{}, rankcore.ErrNotCounted
	}
	bound := time.NewTimer(waitAtMost)
	defer bound.Stop()
	for asked := b.begun(); ; {
		counts, verdict, news := b.segments(season, asked, time.Now())
		switch verdict {
		case counted:
			return counts, nil
		case wait:
		default:
			return counts, rankcore.ErrNotCounted
		}
		select {
		case <-news:
		case <-bound.C:
			return counts, rankcore.ErrNotCounted
		case <-ctx.Done():
			return counts, ctx.Err()
		}
	}
}
