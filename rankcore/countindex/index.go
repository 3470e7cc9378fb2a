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

// settle has a board answer about a season once it is certain of it, and waits while steps are under way that may have
// happened. Nothing is written by answer where it fails.
func (x *Index) settle(ctx context.Context, id rankcore.BoardID, about rankcore.SeasonID, answer func(b *board) verdict) error {
	b := x.boards[id]
	if b == nil || !x.leads(id) {
		return rankcore.ErrNotCounted
	}
	bound := time.NewTimer(waitAtMost)
	defer bound.Stop()
	for asked := b.begun(); ; {
		verdict, news := b.ask(about, asked, time.Now(), answer)
		switch verdict {
		case counted:
			return nil
		case moved:
			return rankcore.ErrMoved
		case notCounted:
			return rankcore.ErrNotCounted
		case wait:
		}
		select {
		case <-news:
		case <-bound.C:
			return rankcore.ErrNotCounted
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Above counts the members at and before a key. It waits for the steps that were under way when it was asked, since
// they may have happened. It fails with rankcore.ErrNotCounted, rankcore.ErrMoved or ctx's error.
func (x *Index) Above(ctx context.Context, q rankcore.AboveQuery) (a rankcore.Above, err error) {
	err = x.settle(ctx, q.Board.ID, q.Season, func(b *board) verdict { return b.above(q, &a) })
	return a, err
}

// Head tells where a season's first members stand, and in which shards. Like Above it waits for steps under way.
func (x *Index) Head(ctx context.Context, q rankcore.HeadQuery) (h rankcore.Head, err error) {
	err = x.settle(ctx, q.Board, q.Season, func(b *board) verdict { return b.head(q, &h) })
	return h, err
}

// Stretch tells between which keys the members around a key stand. Like Above it waits for steps under way.
func (x *Index) Stretch(ctx context.Context, q rankcore.StretchQuery) (st rankcore.Stretch, err error) {
	err = x.settle(ctx, q.Board, q.Season, func(b *board) verdict { return b.stretch(q, &st) })
	return st, err
}

// Places counts the members at and before several keys. Like Above it waits for steps under way.
func (x *Index) Places(ctx context.Context, q rankcore.PlacesQuery) (p rankcore.Places, err error) {
	err = x.settle(ctx, q.Board, q.Season, func(b *board) verdict { return b.places(q, &p) })
	return p, err
}

// Segments are the members of a season by segment. Like Above it waits for steps under way.
func (x *Index) Segments(ctx context.Context, id rankcore.BoardID, season rankcore.SeasonID) (c rankcore.SegmentCounts, err error) {
	err = x.settle(ctx, id, season, func(b *board) verdict { return b.segments(season, &c) })
	return c, err
}
