package gateway

import (
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

const defaultAround = 11

// around answers GET /v1/boards/{board}/users/{user}/around.
func (g *Gateway) around(c *fiber.Ctx) error {
	var r read
	if err := r.begin(g, c, "limit", "season"); err != nil {
		return err
	}
	q := rankcore.RowsQuery{Board: r.board, Season: r.season, Around: r.user(), Limit: r.limit(defaultAround, rankcore.MaxAround)}
	q.Since = r.since()
	if r.err != nil {
		return r.err
	}
	page, err := g.readRows(q, r.now)
	if err != nil {
		return err
	}
	return r.send(g.pageForm(page, func(e *encoder) { e.around(q.Board, q.Around, page) }), &page.Meta, private)
}

// entries answers GET /v1/boards/{board}/entries: from a cursor on, or from the start of a range of scores.
func (g *Gateway) entries(c *fiber.Ctx) error {
	var r read
	if err := r.begin(g, c, "limit", "cursor", "min_score", "max_score", "season"); err != nil {
		return err
	}
	q := rankcore.RowsQuery{Board: r.board, Season: r.season, Limit: r.limit(defaultLimit, rankcore.MaxRows)}
	q.Within = r.scores()
	r.resume(&q)
	q.Since = r.since()
	if r.err != nil {
		return r.err
	}
	page, err := g.readRows(q, r.now)
	if err != nil {
		return err
	}
	return r.send(g.encode(&page.Meta, func(e *encoder) { e.entries(&q, page) }), &page.Meta, public)
}

// resume goes on at the cursor, if there is one. It holds the season and the range of its walk; given again, they must
// be the same, where "day" is any day: a walk that goes on past midnight stays in the day it began in.
func (r *read) resume(q *rankcore.RowsQuery) {
	text := r.params.get("cursor")
	if text == "" {
		return
	}
	at, err := rankcore.ParseCursor(q.Board, text)
	if err != nil {
		r.fail(badRequest.because(err.Error()))
		return
	}
	season, err := q.Board.ParseSeason(string(at.Season), r.now)
	switch asked := r.params.get("season"); {
	case errors.Is(err, rankcore.ErrNoSeason):
		r.fail(err)
	case err != nil:
		r.fail(badRequest.because(err.Error()))
	case asked != "" && asked != string(season.ID) && asked != season.Kind.String():
		r.fail(badRequest.because("the cursor is of another season"))
	case !q.Within.IsWhole() && q.Within != at.Within:
		r.fail(badRequest.because("the cursor is of another range of scores"))
	}
	q.Season, q.Within, q.After = season.ID, at.Within, at.After
}

// scores is the range of scores asked for.
func (r *read) scores() rankcore.ScoreRange {
	least, most := rankcore.ScoreRange{}.Bounds()
	bounded := r.score("min_score", &least)
	bounded = r.score("max_score", &most) || bounded
	if least > most {
		r.fail(badRequest.because("min_score is above max_score"))
	}
	if !bounded {
		return rankcore.ScoreRange{}
	}
	return rankcore.Between(least, most)
}

// score sets into to a parameter that is a score of the board, and reports whether there is one.
func (r *read) score(name string, into *rankcore.Score) bool {
	text := r.params.get(name)
	if text == "" {
		return false
	}
	score, err := rankcore.ParseScore(text, r.board.Scale)
	if err != nil {
		r.fail(badRequest.because(name + ": " + err.Error()))
	}
	*into = score
	return true
}

// readRows asks the reader and answers "updating" where it has none. It fails only with ErrNotRanked, and only
// around a user.
func (g *Gateway) readRows(q rankcore.RowsQuery, now time.Time) (*rankcore.Page, error) {
	page, err := g.cfg.Reader.Rows(g.deadlines.at(now), q)
	if err != nil {
		m, err := g.unfound(q.Board.ID, q.Season, q.Since, now, err)
		return &rankcore.Page{Meta: m}, err
	}
	return settled(page, &page.Meta, q.Since, now), nil
}

func (e *encoder) around(b *rankcore.Board, u rankcore.UserID, page *rankcore.Page) {
	e.begin(b, page.Season)
	e.raw(`"user":`)
	e.string(string(u))
	e.raw(`,`)
	e.page(b, page)
	e.end()
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
	e.end()
}
