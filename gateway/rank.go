package gateway

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// rank answers GET /v1/boards/{board}/users/{user}/rank.
func (g *Gateway) rank(c *fiber.Ctx) error {
	now := time.Now()
	b, err := g.board(c)
	if err != nil {
		return err
	}
	q, err := rankQuery(c, b, now)
	if err != nil {
		return err
	}
	if q.Since, err = g.since(c, b); err != nil {
		return err
	}
	if q.Precision == rankcore.Exact {
		return g.exactRank(c, q, now)
	}
	return g.plainRank(c, q, now)
}

// plainRank answers where a user stands, at nobody's cost.
func (g *Gateway) plainRank(c *fiber.Ctx, q rankcore.RankQuery, now time.Time) error {
	s, err := g.readRank(q, now)
	if err != nil {
		return err
	}
	e := g.buffers.Get().(*encoder)
	defer g.buffers.Put(e)
	e.rank(q.Board, s)
	return send(c, e, &s.Meta, q.Board, "private", now)
}

// rankQuery reads the user, precision and season.
func rankQuery(c *fiber.Ctx, b *rankcore.Board, now time.Time) (rankcore.RankQuery, error) {
	q := rankcore.RankQuery{Board: b, Precision: rankcore.Auto}
	p, err := query(c, "precision", "season")
	if err != nil {
		return q, err
	}
	if q.User, err = user(c); err != nil {
		return q, err
	}
	season, err := p.season(b, now)
	if err != nil {
		return q, err
	}
	q.Season = season.ID
	if text := p.get("precision"); text != "" {
		if q.Precision.UnmarshalText([]byte(text)) != nil {
			return q, badRequest.because("precision is auto, approx or exact")
		}
	}
	if c.Method() == fiber.MethodHead { // whoever asks without wanting the body pays nothing
		q.Precision = rankcore.Auto
	}
	return q, nil
}

var errOtherUser = errors.New("the reader answered for another user")

// readRank asks the reader and answers "updating" where it has no answer. It fails only with ErrNotRanked.
func (g *Gateway) readRank(q rankcore.RankQuery, now time.Time) (*rankcore.Standing, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	s, err := g.cfg.Reader.Rank(ctx, q)
	switch {
	case errors.Is(err, rankcore.ErrNotRanked) && q.Since.Equal(notYet):
		return &rankcore.Standing{Meta: unsure(q.Season, now), User: q.User}, nil
	case errors.Is(err, rankcore.ErrNotRanked):
		return nil, rankcore.ErrNotRanked
	case err == nil && s.User != q.User:
		// Nobody is ever shown somebody else's standing, whatever mixed up the replies behind.
		err = errOtherUser
	}
	if err != nil {
		return &rankcore.Standing{Meta: g.unanswered(q.Board.ID, q.Season, now, err), User: q.User}, nil
	}
	if s.AsOf.IsZero() { // nothing is known, as of now
		dated := *s
		dated.AsOf = now
		return &dated, nil
	}
	if lacks(&s.Meta, q.Since) {
		late := *s
		late.Meta = behind(s.Meta)
		return &late, nil
	}
	return s, nil
}

func (e *encoder) rank(b *rankcore.Board, s *rankcore.Standing) {
	e.begin(b, s.Season)
	e.raw(`"user":`)
	e.string(string(s.User))
	e.raw(`,`)
	e.meta(&s.Meta)
	if s.Status == rankcore.Updating {
		e.raw(`,"rank":null}`)
		return
	}
	e.standing(b, s)
	e.raw(`}`)
}

// standing writes where a user stands.
func (e *encoder) standing(b *rankcore.Board, s *rankcore.Standing) {
	e.raw(`,"score":`)
	e.score(s.Score, b.Scale)
	e.raw(`,"rank":`)
	e.int(s.Rank)
	e.raw(`,"precision":"`)
	e.raw(s.Precision.String())
	if s.Precision == rankcore.Exact {
		e.raw(`","tied":`)
		e.int(s.Tied)
	} else {
		e.raw(`","rank_low":`)
		e.int(s.Low)
		e.raw(`,"rank_high":`)
		e.int(s.High)
	}
	e.raw(`,"percentile":`)
	e.buf = strconv.AppendFloat(e.buf, s.Percentile, 'f', -1, 64)
}
