package gateway

import (
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// read is a question about a board under way: what every one of them brings along, and the first thing that is wrong
// with it. What it takes from the request are views into it: what outlives the request has to be copied.
type read struct {
	g      *Gateway
	c      *fiber.Ctx
	now    time.Time // when the request was read
	board  *rankcore.Board
	season rankcore.SeasonID
	params params
	err    error
}

// begin finds the board, the season, and the parameters, of which the path takes those named.
func (r *read) begin(g *Gateway, c *fiber.Ctx, takes ...string) error {
	r.g, r.c, r.now = g, c, c.Context().Time()
	calendar, err := g.calendar(c)
	if err != nil {
		return err
	}
	r.board = calendar.board
	if err := r.params.read(c, takes); err != nil {
		return err
	}
	r.season, err = calendar.season(r.params.get("season"), r.now)
	return err
}

// fail takes note of err, unless something was wrong before.
func (r *read) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// count is a parameter that counts rows: digits only, from least on. Without it, it is what otherwise says.
func (r *read) count(name string, least, otherwise int) int {
	text := r.params.get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || int(n) < least {
		r.fail(badRequest.because(name + " is a whole number, at least " + strconv.Itoa(least)))
		return otherwise
	}
	return int(n)
}

// limit is the number of rows asked for, from 1 to most.
func (r *read) limit(otherwise, most int) int {
	n := r.count("limit", 1, otherwise)
	if n > most {
		r.fail(badRequest.because("limit is at most " + strconv.Itoa(most) + " here"))
	}
	return n
}

// user is the user that the path names, a view into the request.
func (r *read) user() rankcore.UserID {
	u, err := pathUser(r.c)
	r.fail(err)
	return u
}

// since waits for the write that the answer must include, and tells since when readings include it.
func (r *read) since() time.Time {
	if r.err != nil {
		return time.Time{}
	}
	since, err := r.g.since(r.c, r.board)
	r.fail(err)
	return since
}

// settled is what the reader answered, dated where it knows nothing, and stale where it may lack the write that the
// question wants in it. m is its Meta.
func settled[A interface{ With(rankcore.Meta) A }](answer A, m *rankcore.Meta, since, now time.Time) A {
	switch {
	case m.AsOf.IsZero():
		return answer.With(dated(*m, now))
	case lacks(m, since):
		return answer.With(behind(*m))
	}
	return answer
}

// dated is m of an answer that knows nothing, which is so now.
func dated(m rankcore.Meta, now time.Time) rankcore.Meta {
	m.AsOf = now
	return m
}

// unfound is the Meta of an answer about a user that the reader did not give: it failed, or knows no rank of the user
// while a write that may give one is not applied. Else it fails with ErrNotRanked.
func (g *Gateway) unfound(board rankcore.BoardID, season rankcore.SeasonID, since, now time.Time, err error) (rankcore.Meta, error) {
	switch {
	case !errors.Is(err, rankcore.ErrNotRanked):
		return g.unanswered(board, season, now, err), nil
	case since.Equal(notYet):
		return unsure(season, now), nil
	}
	return rankcore.Meta{}, rankcore.ErrNotRanked
}
