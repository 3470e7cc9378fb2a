package gateway

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// readWithin is the deadline that a question gets. The layers behind have tighter ones of their own.
const readWithin = 2 * time.Second

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

// send answers with what e holds. m and b say how long it may be kept, and by whom: scope is "public" or "private".
func send(c *fiber.Ctx, e *encoder, m *rankcore.Meta, b *rankcore.Board, scope string, now time.Time) error {
	h := &c.Response().Header
	h.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	h.Set("Cache-Status", cacheStatus(m))
	if m.Status != rankcore.Fresh && strictly(c) {
		return refuseStale(m.Status, m.Reason)
	}
	c.Context().SetContentType(fiber.MIMEApplicationJSON)
	c.Context().SetBody(e.buf)
	if m.Status == rankcore.Updating {
		h.Set(fiber.HeaderCacheControl, "no-store")
		h.Set(fiber.HeaderRetryAfter, retryAfter)
		return nil
	}
	age := max(now.Sub(m.AsOf), 0)
	left := b.Freshness - age
	if m.Status != rankcore.Fresh {
		left = 0
	}
	h.Set(fiber.HeaderCacheControl, scope+", max-age="+seconds(left))
	h.Set(fiber.HeaderAge, seconds(age))
	tag := etag(m, e.digest())
	h.Set(fiber.HeaderETag, tag)
	if m.Status == rankcore.Fresh && c.Method() != fiber.MethodPost && matches(c.Get(fiber.HeaderIfNoneMatch), tag) {
		notModified(c)
	}
	return nil
}

// cacheStatus says what part memory had in an answer (RFC 9211). One that was asked for and not had is an older one.
func cacheStatus(m *rankcore.Meta) string {
	switch {
	case m.Origin == rankcore.FromMemory:
		return "rankgate; hit"
	case m.Origin == rankcore.AskedAgain || m.Status == rankcore.Stale:
		return "rankgate; fwd=stale"
	}
	return "rankgate; fwd=miss"
}

// notModified makes the answer a 304 with the headers that it has.
func notModified(c *fiber.Ctx) {
	c.Response().ResetBody()
	c.Status(fiber.StatusNotModified)
}

// seconds are d's whole seconds, at least 0.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(max(d, 0)/time.Second), 10) }

// etag names an answer weakly. The version alone does not: while a shard is out, or an estimate becomes exact,
// bodies of one version differ. So a digest of all but as_of is part of it.
func etag(m *rankcore.Meta, digest uint64) string {
	return `W/"` + m.Version.String() + "-" + string(m.Status) + "-" + strconv.FormatUint(digest, 16) + `"`
}

// matches compares an If-None-Match with tag, weakly.
func matches(ifNoneMatch, tag string) bool {
	opaque := strings.TrimPrefix(tag, "W/")
	for one := range strings.SplitSeq(ifNoneMatch, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == opaque {
			return true
		}
	}
	return false
}

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
