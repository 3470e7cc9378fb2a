package gateway

import (
	"bytes"
	"mime"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// ranks answers POST /v1/boards/{board}/ranks. It reads, so it needs no service credential.
func (g *Gateway) ranks(c *fiber.Ctx) error {
	var r read
	if err := r.begin(g, c, "season"); err != nil {
		return err
	}
	r.fail(wantJSON(c))
	q := rankcore.RanksQuery{Board: r.board, Season: r.season, Users: r.users()}
	q.Since = r.since()
	if r.err != nil {
		return r.err
	}
	batch := g.readRanks(q, r.now)
	return r.send(g.encode(&batch.Meta, func(e *encoder) { e.ranks(&q, batch) }), &batch.Meta, private)
}

// users are those that the body names.
func (r *read) users() []rankcore.UserID {
	users, err := rankcore.ParseUsers(r.c.Body())
	r.fail(err)
	return users
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
	batch, err := g.cfg.Reader.Ranks(g.deadlines.at(now), q)
	if err == nil && batch.Status != rankcore.Updating && !isAbout(batch, q.Users) {
		err = errOtherUser
	}
	if err != nil {
		return &rankcore.Standings{Meta: g.unanswered(q.Board.ID, q.Season, now, err)}
	}
	return settled(batch, &batch.Meta, q.Since, now)
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
			if !s.Known() { // and not: has none
				e.raw(`,"rank":null,"status":"updating"}`)
				continue
			}
			e.standing(q.Board, s)
			e.raw(`,"place":`)
			e.int(int64(places[i]))
			e.raw(`}`)
		}
	}
	e.raw(`]`)
	e.end()
}
