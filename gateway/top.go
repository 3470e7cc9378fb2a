package gateway

import (
	"context"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

const defaultLimit = 100

// top answers GET /v1/boards/{board}/top.
func (g *Gateway) top(c *fiber.Ctx) error {
	now := time.Now()
	b, err := g.board(c)
	if err != nil {
		return err
	}
	q, err := topQuery(c, b, now)
	if err != nil {
		return err
	}
	if q.Since, err = g.since(c, b); err != nil {
		return err
	}
	page := g.readTop(q, now)
	e := g.buffers.Get().(*encoder)
	defer g.buffers.Put(e)
	e.top(b, page)
	return send(c, e, &page.Meta, b, "public", now)
}

// topQuery reads limit, offset and season. Together limit and offset stay within the board's head.
func topQuery(c *fiber.Ctx, b *rankcore.Board, now time.Time) (rankcore.TopQuery, error) {
	q := rankcore.TopQuery{Board: b}
	p, err := query(c, "limit", "offset", "season")
	if err != nil {
		return q, err
	}
	season, err := p.season(b, now)
	if err != nil {
		return q, err
	}
	q.Season = season.ID
	if q.Offset, err = p.count("offset", 0, 0); err != nil {
		return q, err
	}
	if q.Limit, err = p.count("limit", 1, max(1, min(defaultLimit, b.Head-q.Offset))); err != nil {
		return q, err
	}
	if q.Offset+q.Limit > b.Head {
		return q, badRequest.because("offset + limit is at most " + strconv.Itoa(b.Head) + " on this board")
	}
	return q, nil
}

// readTop asks the reader and answers "updating" where it has none.
func (g *Gateway) readTop(q rankcore.TopQuery, now time.Time) *rankcore.Page {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	page, err := g.cfg.Reader.Top(ctx, q)
	return pageSince(g.datedPage(page, err, q.Board.ID, q.Season, now), q.Since)
}

// datedPage is what the reader answered, or an updating page where it failed.
func (g *Gateway) datedPage(page *rankcore.Page, err error, board rankcore.BoardID, season rankcore.SeasonID, now time.Time) *rankcore.Page {
	if err != nil {
		return &rankcore.Page{Meta: g.unanswered(board, season, now, err)}
	}
	if page.AsOf.IsZero() { // nothing is known, as of now
		dated := *page
		dated.AsOf = now
		return &dated
	}
	return page
}

func (e *encoder) top(b *rankcore.Board, page *rankcore.Page) {
	e.begin(b, page.Season)
	e.page(b, page)
	e.raw(`}`)
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
