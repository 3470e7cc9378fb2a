package gateway

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

const defaultAround = 11

// around answers GET /v1/boards/{board}/users/{user}/around.
func (g *Gateway) around(c *fiber.Ctx) error {
	now := time.Now()
	b, err := g.board(c)
	if err != nil {
		return err
	}
	q, err := aroundQuery(c, b, now)
	if err != nil {
		return err
	}
	if q.Since, err = g.since(c, b); err != nil {
		return err
	}
	page, err := g.readRows(q, now)
	if err != nil {
		return err
	}
	e := g.buffers.Get().(*encoder)
	defer g.buffers.Put(e)
	e.around(b, q.Around, page)
	return send(c, e, &page.Meta, b, "private", now)
}

// aroundQuery reads the user, limit and season.
func aroundQuery(c *fiber.Ctx, b *rankcore.Board, now time.Time) (rankcore.RowsQuery, error) {
	q := rankcore.RowsQuery{Board: b}
	p, err := query(c, "limit", "season")
	if err != nil {
		return q, err
	}
	if q.Around, err = user(c); err != nil {
		return q, err
	}
	season, err := p.season(b, now)
	if err != nil {
		return q, err
	}
	q.Season = season.ID
	q.Limit, err = p.limit(defaultAround, rankcore.MaxAround)
	return q, err
}

// entries answers GET /v1/boards/{board}/entries.
func (g *Gateway) entries(c *fiber.Ctx) error {
	now := time.Now()
	b, err := g.board(c)
	if err != nil {
		return err
	}
	q, err := entriesQuery(c, b, now)
	if err != nil {
		return err
	}
	if q.Since, err = g.since(c, b); err != nil {
		return err
	}
	page, err := g.readRows(q, now)
	if err != nil {
		return err
	}
	e := g.buffers.Get().(*encoder)
	defer g.buffers.Put(e)
	e.entries(&q, page)
	return send(c, e, &page.Meta, b, "public", now)
}

// entriesQuery reads limit, season, and where to begin: at a cursor, or at the start of a range of scores.
func entriesQuery(c *fiber.Ctx, b *rankcore.Board, now time.Time) (rankcore.RowsQuery, error) {
	q := rankcore.RowsQuery{Board: b}
	p, err := query(c, "limit", "cursor", "min_score", "max_score", "season")
	if err != nil {
		return q, err
	}
	if q.Limit, err = p.limit(defaultLimit, rankcore.MaxRows); err != nil {
		return q, err
	}
	if q.Within, err = p.scores(b); err != nil {
		return q, err
	}
	if p.get("cursor") != "" {
		return q, p.resume(&q, now)
	}
	season, err := p.season(b, now)
	q.Season = season.ID
	return q, err
}

// resume goes on at the cursor. It holds the season and the range of its walk; given again, they must be the same,
// where "day" is any day: a walk that goes on past midnight stays in the day it began in.
func (p params) resume(q *rankcore.RowsQuery, now time.Time) error {
	at, err := rankcore.ParseCursor(q.Board, p.get("cursor"))
	if err != nil {
		return badRequest.because(err.Error())
	}
	season, err := q.Board.ParseSeason(string(at.Season), now)
	switch {
	case errors.Is(err, rankcore.ErrNoSeason):
		return err
	case err != nil:
		return badRequest.because(err.Error())
	}
	if asked := p.get("season"); asked != "" && asked != string(season.ID) && asked != season.Kind.String() {
		return badRequest.because("the cursor is of another season")
	}
	if !q.Within.IsWhole() && q.Within != at.Within {
		return badRequest.because("the cursor is of another range of scores")
	}
	q.Season, q.Within, q.After = season.ID, at.Within, at.After
	return nil
}

// scores is the range of scores asked for.
func (p params) scores(b *rankcore.Board) (rankcore.ScoreRange, error) {
	least, most := rankcore.ScoreRange{}.Bounds()
	for _, end := range [...]struct {
		name  string
		score *rankcore.Score
	}{{"min_score", &least}, {"max_score", &most}} {
		text := p.get(end.name)
		if text == "" {
			continue
		}
		var err error
		if *end.score, err = rankcore.ParseScore(text, b.Scale); err != nil {
			return rankcore.ScoreRange{}, badRequest.because(end.name + ": " + err.Error())
		}
	}
	switch {
	case least > most:
		return rankcore.ScoreRange{}, badRequest.because("min_score is above max_score")
	case p.get("min_score") == "" && p.get("max_score") == "":
		return rankcore.ScoreRange{}, nil
	}
	return rankcore.Between(least, most), nil
}

// limit is the number of rows asked for, from 1 to most.
func (p params) limit(otherwise, most int) (int, error) {
	n, err := p.count("limit", 1, otherwise)
	if err == nil && n > most {
		err = badRequest.because("limit is at most " + strconv.Itoa(most) + " here")
	}
	return n, err
}

// readRows asks the reader and answers "updating" where it has none. It fails only with ErrNotRanked, and only
// around a user.
func (g *Gateway) readRows(q rankcore.RowsQuery, now time.Time) (*rankcore.Page, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	page, err := g.cfg.Reader.Rows(ctx, q)
	if q.Around != "" && errors.Is(err, rankcore.ErrNotRanked) {
		if q.Since.Equal(notYet) {
			return &rankcore.Page{Meta: unsure(q.Season, now)}, nil
		}
		return nil, rankcore.ErrNotRanked
	}
	return pageSince(g.datedPage(page, err, q.Board.ID, q.Season, now), q.Since), nil
}

func (e *encoder) around(b *rankcore.Board, u rankcore.UserID, page *rankcore.Page) {
	e.begin(b, page.Season)
	e.raw(`"user":`)
	e.string(string(u))
	e.raw(`,`)
	e.page(b, page)
	e.raw(`}`)
}

// entries writes a page of a walk. The cursor in it is missing at the end only: while nothing can be shown it is
// the place where the caller stands.
func (e *encoder) entries(q *rankcore.RowsQuery, page *rankcore.Page) {
	e.begin(q.Board, page.Season)
	e.page(q.Board, page)
	next := rankcore.Cursor{Season: q.Season, Within: q.Within, After: q.After}
	if n := len(page.Entries); n > 0 && page.Status != rankcore.Updating {
		next.After = page.Entries[n-1].Place()
	}
	if page.More || page.Status == rankcore.Updating {
		e.raw(`,"next_cursor":"`)
		e.raw(next.Encode(q.Board))
		e.raw(`"`)
	}
	e.raw(`}`)
}
