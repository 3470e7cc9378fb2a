package aggregate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// countWithin bounds how long the core is waited for: its own wait for steps under way, and the way there and back.
// What is left of a reader's patience is for the shards.
const countWithin = 50 * time.Millisecond

// CounterConfig describes a counter.
type CounterConfig struct {
	Conn       *nats.Conn
	Boards     []*rankcore.Board
	Shards     string                      // names the shards, as at the server
	Own        Index                       // of the boards that this process applies; nil: it applies none
	Leads      func(rankcore.BoardID) bool // whether it applies the board now; not asked where Own is nil
	Registerer prometheus.Registerer       // nil: no metrics
	Logger     *slog.Logger                // nil: silent
}

// Counter asks the core that applies a board how many of its members stand where: this process's own index where it
// applies the board itself, since no other can know then. It keeps nothing, so that each answer is of a moment between
// its question and itself. When nobody tells it fails with rankcore.ErrNotCounted, and the shards are to be asked.
// Safe for concurrent use.
type Counter struct {
	cfg     CounterConfig
	metrics *counterMetrics
	boards  map[rankcore.BoardID]*rest // fixed
}

// NewCounter returns a counter.
func NewCounter(cfg CounterConfig) *Counter {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Counter{cfg: cfg, metrics: newCounterMetrics(cfg.Registerer), boards: make(map[rankcore.BoardID]*rest, len(cfg.Boards))}
	for _, b := range cfg.Boards {
		c.boards[b.ID] = &rest{}
	}
	return c
}

func (c *Counter) own(id rankcore.BoardID) bool { return c.cfg.Own != nil && c.cfg.Leads(id) }

// Above counts the members at and before a key. It fails with rankcore.ErrMoved when the user's shard is to be read
// again, and with rankcore.ErrNotCounted when nobody tells.
func (c *Counter) Above(ctx context.Context, q rankcore.AboveQuery) (a rankcore.Above, err error) {
	if c.own(q.Board.ID) {
		return c.cfg.Own.Above(ctx, q)
	}
	err = c.ask(ctx, q.Board.ID, question{kind: askAbove, season: q.Season, n: q.Key, shard: q.Shard, changed: q.Changed},
		func(r *reader) { a = r.above() })
	return a, err
}

// Head tells where a season's first members stand. It fails with rankcore.ErrNotCounted when nobody tells.
func (c *Counter) Head(ctx context.Context, q rankcore.HeadQuery) (h rankcore.Head, err error) {
	if c.own(q.Board) {
		return c.cfg.Own.Head(ctx, q)
	}
	err = c.ask(ctx, q.Board, question{kind: askHead, season: q.Season, n: q.Rows}, func(r *reader) { h = r.head() })
	return h, err
}

// Stretch tells between which keys the members around a key stand. It fails with rankcore.ErrNotCounted when nobody tells.
func (c *Counter) Stretch(ctx context.Context, q rankcore.StretchQuery) (st rankcore.Stretch, err error) {
	if c.own(q.Board) {
		return c.cfg.Own.Stretch(ctx, q)
	}
	asked := question{kind: askStretch, season: q.Season, n: q.Key, end: q.End, back: q.Back, forth: q.Forth, seen: q.Seen}
	err = c.ask(ctx, q.Board, asked, func(r *reader) { st = r.stretch() })
	return st, err
}

// Places counts the members at and before several keys. It fails with rankcore.ErrNotCounted when nobody tells.
func (c *Counter) Places(ctx context.Context, q rankcore.PlacesQuery) (p rankcore.Places, err error) {
	if c.own(q.Board) {
		return c.cfg.Own.Places(ctx, q)
	}
	err = c.ask(ctx, q.Board, question{kind: askPlaces, season: q.Season, keys: q.Keys, seen: q.Seen}, func(r *reader) {
		p = r.places()
		r.garbled = r.garbled || len(p.Before) != len(q.Keys)
	})
	return p, err
}

// Segments are the members of a season by segment. It fails with rankcore.ErrNotCounted when nobody tells.
func (c *Counter) Segments(ctx context.Context, id rankcore.BoardID, season rankcore.SeasonID) (s rankcore.SegmentCounts, err error) {
	if c.own(id) {
		return c.cfg.Own.Segments(ctx, id, season)
	}
	err = c.ask(ctx, id, question{kind: askSegments, season: season}, func(r *reader) { s = r.segments() })
	return s, err
}

// ask lets take read the answer to a question. What it took is to be used only when there is no error.
func (c *Counter) ask(ctx context.Context, id rankcore.BoardID, q question, take func(*reader)) error {
	rest := c.boards[id]
	if rest == nil {
		return rankcore.ErrNotCounted
	}
	if rest.resting(time.Now()) {
		c.metrics.resting.Inc()
		return rankcore.ErrNotCounted
	}
	limited, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	m, err := c.cfg.Conn.RequestWithContext(limited, countSubject(c.cfg.Shards, id), encodeQuestion(q))
	switch {
	case err == nil:
		rest.answered()
		if err = c.read(m.Data, take); errors.Is(err, errRefused) || errors.Is(err, errGarbled) {
			rest.unanswered(false, 0)
		}
	case ctx.Err() != nil: // it was the asker who left
		return ctx.Err()
	case errors.Is(err, nats.ErrNoResponders):
		c.metrics.unheard.Inc()
		rest.unanswered(false, 0)
	default:
		c.metrics.late.Inc()
		rest.unanswered(true, 0)
	}
	if err == nil || errors.Is(err, rankcore.ErrMoved) {
		return err
	}
	c.cfg.Logger.Debug("the core does not count; the shards are asked", "board", id, "because", err)
	return fmt.Errorf("%w: %w", rankcore.ErrNotCounted, err)
}

// read takes an answer in.
func (c *Counter) read(data []byte, take func(*reader)) error {
	if len(data) >= 2 && data[0] == version {
		switch data[1] {
		case refused:
			c.metrics.refused.Inc()
			return errRefused
		case moved:
			c.metrics.moved.Inc()
			return rankcore.ErrMoved
		case unknown:
			c.metrics.unknown.Inc()
			return rankcore.ErrNotCounted
		case answered:
			r := reader{rest: data[2:]}
			if take(&r); !r.garbled && len(r.rest) == 0 {
				c.metrics.answered.Inc()
				return nil
			}
		}
	}
	c.metrics.garbled.Inc()
	return errGarbled
}
