package gateway

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// rank answers GET /v1/boards/{board}/users/{user}/rank.
func (g *Gateway) rank(c *fiber.Ctx) error {
	var r read
	if err := r.begin(g, c, "precision", "season"); err != nil {
		return err
	}
	q := rankcore.RankQuery{Board: r.board, Season: r.season, User: r.user(), Precision: r.precision()}
	q.Since = r.since()
	if r.err != nil {
		return r.err
	}
	if q.Precision == rankcore.Exact {
		q.User = rankcore.UserID(strings.Clone(string(q.User))) // it may be the requester, whom the quota remembers
		return g.exactRank(r, q)
	}
	return r.plainRank(q)
}

// precision is how well the rank is to be known. Whoever asks without wanting the body pays nothing.
func (r *read) precision() rankcore.Precision {
	text := r.params.get("precision")
	if text == "" {
		return rankcore.Auto
	}
	var p rankcore.Precision
	if p.UnmarshalText([]byte(text)) != nil {
		r.fail(badRequest.because("precision is auto, approx or exact"))
	}
	if r.c.Method() == fiber.MethodHead {
		return rankcore.Auto
	}
	return p
}

// plainRank answers where a user stands, at nobody's cost.
func (r *read) plainRank(q rankcore.RankQuery) error {
	s, err := r.g.readRank(q, r.now)
	if err != nil {
		return err
	}
	return r.send(r.g.standingForm(q.Board, s), &s.Meta, private)
}

var errOtherUser = errors.New("the reader answered for another user")

// readRank asks the reader and answers "updating" where it has no answer. It fails only with ErrNotRanked.
func (g *Gateway) readRank(q rankcore.RankQuery, now time.Time) (*rankcore.Standing, error) {
	s, err := g.cfg.Reader.Rank(g.deadlines.at(now), q)
	if err == nil && s.User != q.User {
		// Nobody is ever shown somebody else's standing, whatever mixed up the replies behind.
		err = errOtherUser
	}
	if err != nil {
		m, err := g.unfound(q.Board.ID, q.Season, q.Since, now, err)
		return &rankcore.Standing{Meta: m, User: q.User}, err
	}
	return settled(s, &s.Meta, q.Since, now), nil
}

func (e *encoder) rank(b *rankcore.Board, s *rankcore.Standing) {
	e.begin(b, s.Season)
	e.raw(`"user":`)
	e.string(string(s.User))
	e.raw(`,`)
	e.meta(&s.Meta)
	if s.Status == rankcore.Updating {
		e.raw(`,"rank":null`)
		e.end()
		return
	}
	e.standing(b, s)
	e.end()
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
