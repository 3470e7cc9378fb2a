package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"rankgate/rankcore"
)

// Counts tells how many members of shards stand at each key, about 1000 rows' worth for each question, and answers
// in order. It is how an index is built anew while steps go on. One round trip for each node; each question takes
// Redis up to 1 ms, so that a few at a time keep it responsive.
func (s *Store) Counts(ctx context.Context, b *rankcore.Board, asked []rankcore.CountsQuery) []rankcore.Counts {
	calls, layout := make([]call, len(asked)), layout(b)
	for i, q := range asked {
		p, field, bound := prefix(b, q.Shard), "", "-inf"
		if q.Season != "" {
			field = seasonField(q.Season)
		}
		if q.After != rankcore.NoKey {
			bound = "(" + number(q.After)
		}
		calls[i] = call{[]string{p + "meta", p + string(q.Season) + ":main"}, []any{layout, q.At.String(), field, bound}}
	}
	list := make([]rankcore.Counts, len(asked))
	for i, r := range s.step(ctx, scanScript, calls) {
		var err error
		if list[i], err = countsOf(asked[i], r); err != nil {
			list[i] = rankcore.Counts{Err: fmt.Errorf("counting shard %d of board %s: %w", asked[i].Shard, b.ID, err)}
		}
	}
	return list
}

// countsOf reads an answer of scan.lua.
func countsOf(q rankcore.CountsQuery, r reply) (c rankcore.Counts, err error) {
	c.At = q.At
	switch {
	case r.err != nil:
		return c, r.err
	case r.word == "at" && len(r.rest) == 1:
		c.At, err = rankcore.ParsePosition(text(r.rest[0]))
		return c, err
	case r.word == "damaged" && len(r.rest) == 1:
		return c, notReady(text(r.rest[0]))
	case r.word == "seasons":
		for _, field := range r.rest {
			c.Seasons = append(c.Seasons, rankcore.SeasonID(strings.TrimPrefix(text(field), seasonField(""))))
		}
		return c, nil
	case r.word == "counts" && len(r.rest) == 4 && len(text(r.rest[3]))%16 == 0:
		if c.Changed, err = rankcore.ParsePosition(text(r.rest[1])); err != nil {
			return c, err
		}
		c.Members, c.Ended = integer(r.rest[0]), integer(r.rest[2]) == 1
		packed := []byte(text(r.rest[3]))
		c.Counts = make([]rankcore.KeyCount, len(packed)/16)
		for i := range c.Counts {
			count := math.Float64frombits(binary.LittleEndian.Uint64(packed[16*i+8:]))
			c.Counts[i] = rankcore.KeyCount{Key: keyAt(packed[16*i:]), Count: int64(count)}
		}
		return c, nil
	default:
		return c, errShape(r.word)
	}
}
