package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// unanswered is the Meta of an answer that could not be had: a read never fails for what is behind it.
func (g *Gateway) unanswered(board rankcore.BoardID, season rankcore.SeasonID, now time.Time, err error) rankcore.Meta {
	reason := rankcore.CoreDown
	var u *rankcore.Unavailable
	switch {
	case errors.As(err, &u):
		reason = u.Reason
	case errors.Is(err, context.DeadlineExceeded):
		reason = rankcore.CoreSlow
	default:
		g.log.Error("a reader failed in a way it must not", "board", board, "cause", err)
	}
	return rankcore.Meta{Season: season, Status: rankcore.Updating, Reason: reason, AsOf: now}
}

// scope says who may keep an answer.
type scope string

const (
	public  scope = "public"  // whoever stands between
	private scope = "private" // the caller alone
)

// send answers with f, which is about m.
func (r *read) send(f *form, m *rankcore.Meta, who scope) error {
	h := &r.c.Response().Header
	acceptVaries.set(h)
	cacheStatus(m).set(h)
	if m.Status != rankcore.Fresh && strictly(r.c) {
		return refuseStale(m.Status, m.Reason)
	}
	if m.Status == rankcore.Updating {
		r.c.Set(fiber.HeaderCacheControl, "no-store")
		r.c.Set(fiber.HeaderRetryAfter, retryAfter)
		f.sendBody(r.c)
		return nil
	}
	r.lasts(m, who)
	h.SetCanonical(etagName, f.tag)
	if m.Status == rankcore.Fresh && r.c.Method() != fiber.MethodPost && matches(r.c, f.tag) {
		notModified(r.c)
		return nil
	}
	f.sendBody(r.c)
	return nil
}

// lasts says how old the answer is, and how long it may be kept.
func (r *read) lasts(m *rankcore.Meta, who scope) {
	h := &r.c.Response().Header
	age := max(r.now.Sub(m.AsOf), 0)
	left := r.board.Freshness - age
	if m.Status != rankcore.Fresh {
		left = 0
	}
	var text [48]byte
	keep := append(append(text[:0], who...), ", max-age="...)
	h.SetCanonical(cacheControlName, appendSeconds(keep, left))
	h.SetCanonical(ageName, appendSeconds(text[:0], age))
}

// sendBody sends the body packed, where that was done and the caller takes it.
func (f *form) sendBody(c *fiber.Ctx) {
	body := f.body
	if len(body) >= packFrom && c.Request().Header.HasAcceptEncodingBytes(gzipName) {
		if packed := f.gzipped(); packed != nil {
			c.Response().Header.SetContentEncodingBytes(gzipName)
			body = packed
		}
	}
	c.Response().Header.SetContentTypeBytes(jsonType)
	c.Response().SetBodyRaw(body)
}

// sendJSON answers with v, on a line of its own.
func sendJSON(c *fiber.Ctx, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.Response().Header.SetContentTypeBytes(jsonType)
	c.Response().SetBodyRaw(append(body, '\n'))
	return nil
}

// cacheStatus says what part memory had in an answer (RFC 9211). One that was asked for and not had is an older one.
func cacheStatus(m *rankcore.Meta) *header {
	switch {
	case m.Origin == rankcore.FromMemory:
		return hit
	case m.Origin == rankcore.AskedAgain || m.Status == rankcore.Stale:
		return fwdStale
	}
	return fwdMiss
}

// notModified makes the answer a 304 with the headers that it has.
func notModified(c *fiber.Ctx) {
	c.Response().ResetBody()
	c.Status(fiber.StatusNotModified)
}

// appendTag appends an answer's ETag, a weak one. The version alone does not name it: while a shard is out, or an
// estimate becomes exact, bodies of one version differ. So a digest of all but as_of is part of it.
func appendTag(dst []byte, m *rankcore.Meta, digest uint64) []byte {
	dst = m.Version.Append(append(dst, `W/"`...))
	dst = append(append(dst, '-'), m.Status...)
	dst = strconv.AppendUint(append(dst, '-'), digest, 16)
	return append(dst, '"')
}

// matches reports whether the caller has what tag names (If-None-Match), compared weakly.
func matches(c *fiber.Ctx, tag []byte) bool {
	opaque := bytes.TrimPrefix(tag, weak)
	for rest := c.Request().Header.PeekCanonical(noneMatchName); len(rest) > 0; {
		var one []byte
		one, rest, _ = bytes.Cut(rest, comma)
		one = bytes.TrimSpace(one)
		if string(one) == "*" || bytes.Equal(bytes.TrimPrefix(one, weak), opaque) {
			return true
		}
	}
	return false
}

var weak, comma = []byte("W/"), []byte(",")

// refuseStale is what a caller gets instead who wants a fresh answer or none.
func refuseStale(s rankcore.Status, why rankcore.Reason) error {
	return notFresh.because("The answer would be " + string(s) + ", because of " + string(why) + ".")
}

// strictly reports whether the caller would rather have an error than an answer that is not fresh (RFC 7240).
func strictly(c *fiber.Ctx) bool {
	for preference := range strings.SplitSeq(c.Get("Prefer"), ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if strings.EqualFold(strings.TrimSpace(name), "handling") && strings.EqualFold(strings.Trim(value, ` "`), "strict") {
			return true
		}
	}
	return false
}
