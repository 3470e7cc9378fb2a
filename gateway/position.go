package gateway

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// includeWithin is how long a read waits for the write that it is to include: a beacon's time and a bit.
const includeWithin = 250 * time.Millisecond

// notYet is the Since of a question for a write that is not applied yet, as far as is known: no answer has it.
var notYet = time.Unix(math.MaxInt32, 0)

// since is the moment from which on what is read from the shards includes the write that If-Position-Applied names;
// zero without that header. It waits for that moment a little.
func (g *Gateway) since(c *fiber.Ctx, b *rankcore.Board) (time.Time, error) {
	named := c.Request().Header.PeekCanonical(positionAppliedName)
	if len(named) == 0 {
		return time.Time{}, nil
	}
	at, err := parsePosition(string(named))
	if err != nil {
		return time.Time{}, badRequest.because("If-Position-Applied is a position as a write returned it")
	}
	ctx, cancel := context.WithTimeout(g.waits, includeWithin)
	defer cancel()
	since, err := g.cfg.Applied.Included(ctx, b.ID, at)
	if err != nil {
		return notYet, nil
	}
	return since, nil
}

var errPosition = errors.New("not a write position")

// parsePosition reads "<seq>-<ms>". The write is included by what has this sequence and this time, or later ones.
func parsePosition(text string) (rankcore.Position, error) {
	seq, ms, ok := strings.Cut(text, "-")
	n, err := strconv.ParseUint(seq, 10, 64)
	t, err2 := strconv.ParseUint(ms, 10, 64)
	if !ok || err != nil || err2 != nil || n == 0 || t > math.MaxInt64/uint64(time.Millisecond) {
		return rankcore.Position{}, errPosition
	}
	return rankcore.Position{Seq: n, Time: int64(t) * int64(time.Millisecond)}, nil
}

// lacks reports whether an answer that looks fresh may lack what the question wants in it. Counts behind an estimate
// may be older than the write although the estimate is newer.
func lacks(m *rankcore.Meta, since time.Time) bool {
	return m.Status == rankcore.Fresh && m.AsOf.Before(since)
}

// behind is m of an answer that may lack a write.
func behind(m rankcore.Meta) rankcore.Meta {
	m.Status, m.Reason = rankcore.Stale, rankcore.ApplierBehind
	return m
}

// unsure is the Meta of an answer about somebody who has no rank, while a write that may give one is not applied.
func unsure(season rankcore.SeasonID, now time.Time) rankcore.Meta {
	return rankcore.Meta{Season: season, Status: rankcore.Updating, Reason: rankcore.ApplierBehind, AsOf: now}
}
