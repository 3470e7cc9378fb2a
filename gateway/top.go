package gateway

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

const defaultLimit = 100

// top answers GET /v1/boards/{board}/top. Together limit and offset stay within the board's head.
func (g *Gateway) top(c *fiber.Ctx) error {
	var r read
	if err := r.begin(g, c, "limit", "offset", "season"); err != nil {
		return err
	}
	q := rankcore.TopQuery{Board: r.board, Season: r.season, Offset: r.count("offset", 0, 0)}
	q.Limit = r.count("limit", 1, max(1, min(defaultLimit, r.board.Head-q.Offset)))
	if q.Offset+q.Limit > r.board.Head {
		r.fail(badRequest.because("offset + limit is at most " + strconv.Itoa(r.board.Head) + " on this board"))
	}
	q.Since = r.since()
	if r.err != nil {
		return r.err
	}
	page := g.readTop(q, r.now)
	return r.send(g.topForm(r.board, page), &page.Meta, public)
}

// readTop asks the reader and answers "updating" where it has none.
func (g *Gateway) readTop(q rankcore.TopQuery, now time.Time) *rankcore.Page {
	page, err := g.cfg.Reader.Top(g.deadlines.at(now), q)
	if err != nil {
		return &rankcore.Page{Meta: g.unanswered(q.Board.ID, q.Season, now, err)}
	}
	return settled(page, &page.Meta, q.Since, now)
}

// topForm is the form of top rows, for those who ask and for those who listen.
func (g *Gateway) topForm(b *rankcore.Board, page *rankcore.Page) *form {
	return g.pageForm(page, func(e *encoder) { e.top(b, page) })
}

func (e *encoder) top(b *rankcore.Board, page *rankcore.Page) {
	e.begin(b, page.Season)
	e.page(b, page)
	e.end()
}

// page writes what every page has.
func (e *encoder) page(b *rankcore.Board, page *rankcore.Page) {
	e.meta(&page.Meta)
	e.raw(`,"entries":[`)
	if page.Status != rankcore.Updating {
		for i := range page.Entries {
			if i > 0 {
				e.raw(`,`)
			}
			e.entry(&page.Entries[i], b.Scale)
		}
	}
	e.raw(`]`)
}

func (e *encoder) entry(entry *rankcore.Entry, scale int) {
	e.raw(`{"rank":`)
	e.int(entry.Rank)
	e.raw(`,"user":`)
	e.string(string(entry.User))
	e.raw(`,"score":`)
	e.score(entry.Score, scale)
	e.raw(`}`)
}
