package gateway

import (
	"bytes"
	"context"
	"mime"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// ranks answers POST /v1/boards/{board}/ranks. It reads, so it needs no service credential.
func (g *Gateway) ranks(c *fiber.Ctx) error {
	now := time.Now()
	b, err := g.board(c)
	if err != nil {
		return err
	}
	p, err := query(c, "season")
	if err != nil {
		return err
	}
	season, err := p.season(b, now)
	if err != nil {
		return err
	}
	if err := wantJSON(c); err != nil {
		return err
	}
	q := rankcore.RanksQuery{Board: b, Season: season.ID}
	if q.Users, err = rankcore.ParseUsers(c.Body()); err != nil {
		return err
	}
	if q.Since, err = g.since(c, b); err != nil {
		return err
	}
	batch := g.readRanks(q, now)
	e := g.buffers.Get().(*encoder)
	defer g.buffers.Put(e)
	e.ranks(&q, batch)
	return send(c, e, &batch.Meta, b, "private", now)
}

// wantJSON refuses a body that does not say that it is plain JSON.
func wantJSON(c *fiber.Ctx) error {
	kind, _, err := mime.ParseMediaType(string(c.Request().Header.ContentType()))
	if err != nil || kind != fiber.MIMEApplicationJSON {
		return notJSON.because("Send Content-Type: application/json.")
	}
	if e := c.Request().Header.ContentEncoding(); len(e) > 0 && !bytes.EqualFold(e, []byte("identity")) {
		return notJSON.because("Send the body without Content-Encoding.")
	}
	return nil
}

// readRanks asks the reader and answers "updating" where it has none, or one about others.
func (g *Gateway) readRanks(q rankcore.RanksQuery, now time.Time) *rankcore.Standings {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	batch, err := g.cfg.Reader.Ranks(ctx, q)
	if err == nil && batch.Status != rankcore.Updating && !isAbout(batch, q.Users) {
		err = errOtherUser
	}
	if err != nil {
		return &rankcore.Standings{Meta: g.unanswered(q.Board.ID, q.Season, now, err)}
	}
	if batch.AsOf.IsZero() { // nothing is known, as of now
		m := batch.Meta
		m.AsOf = now
		return batch.With(m)
	}
	if lacks(&batch.Meta, q.Since) {
		return batch.With(behind(batch.Meta))
	}
	return batch
}

func isAbout(batch *rankcore.Standings, users []rankcore.UserID) bool {
	return slices.EqualFunc(batch.Users, users, func(s *rankcore.Standing, u rankcore.UserID) bool {
		return s == nil || s.User == u
	})
}

// ranks writes a batch. While updating it has no ranks: a null would say that the user has none.
func (e *encoder) ranks(q *rankcore.RanksQuery, batch *rankcore.Standings) {
	e.begin(q.Board, batch.Season)
	e.meta(&batch.Meta)
	e.raw(`,"ranks":[`)
	if batch.Status != rankcore.Updating {
		places := batch.Places(q.Board)
		for i, s := range batch.Users {
			if i > 0 {
				e.raw(`,`)
			}
			e.raw(`{"user":`)
			e.string(string(q.Users[i]))
			if s == nil {
				e.raw(`,"rank":null}`)
				continue
			}
			e.standing(q.Board, s)
			e.raw(`,"place":`)
			e.int(int64(places[i]))
			e.raw(`}`)
		}
	}
	e.raw(`]}`)
}
