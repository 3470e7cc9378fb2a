package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// countedRows is how many rows of a shard one question reads: some 0.5 ms of Redis.
const countedRows = 1000

// Counts tells how many members of shards stand at each key, about 1000 rows' worth for each question, and answers
// in order. It is how an index is built anew while steps go on. One round trip for each node, and one more where a tie
// fills all the rows; each question takes Redis less than 1 ms, so that a few at a time keep it responsive.
//
// Rows are read by plain commands between two readings of meta. A script would have to turn every row into Lua's
// values first, at ten times the cost.
func (s *Store) Counts(ctx context.Context, b *rankcore.Board, asked []rankcore.CountsQuery) []rankcore.Counts {
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	list := make([]rankcore.Counts, len(asked))
	scans, pipe := make([]*scan, len(asked)), s.steps.Pipeline()
	for i, q := range asked {
		scans[i] = newScan(b, q)
		scans[i].send(ctx, pipe)
	}
	_, _ = pipe.Exec(ctx) // every command carries its own error
	var again []int
	for i, sc := range scans {
		if list[i] = sc.counts(b); list[i].Err == nil && sc.isTie() {
			again = append(again, i)
		}
	}
	if len(again) == 0 {
		return list
	}
	pipe = s.steps.Pipeline()
	for _, i := range again {
		scans[i].sendTie(ctx, pipe)
	}
	_, _ = pipe.Exec(ctx)
	for _, i := range again {
		list[i] = scans[i].counts(b)
	}
	return list
}

// scan is one question of Counts to one shard, and the commands that it is asked by.
type scan struct {
	rankcore.CountsQuery
	meta, main    string
	before, after *redis.SliceCmd
	names         *redis.StringSliceCmd // when no season is asked for
	members       *redis.IntCmd
	rows          *redis.ZSliceCmd
	tie           *redis.IntCmd // how many stand at the key that all rows have
}

func newScan(b *rankcore.Board, q rankcore.CountsQuery) *scan {
	p := prefix(b, q.Shard)
	return &scan{CountsQuery: q, meta: p + "meta", main: p + string(q.Season) + ":main"}
}

func (sc *scan) readMeta(ctx context.Context, pipe redis.Pipeliner) *redis.SliceCmd {
	return pipe.HMGet(ctx, sc.meta, "layout", "position", seasonField(sc.Season))
}

func (sc *scan) send(ctx context.Context, pipe redis.Pipeliner) {
	sc.before = sc.readMeta(ctx, pipe)
	if sc.Season == "" {
		sc.names = pipe.HKeys(ctx, sc.meta)
	} else {
		bound := "-inf"
		if sc.After != rankcore.NoKey {
			bound = "(" + number(sc.After)
		}
		sc.members = pipe.ZCard(ctx, sc.main)
		sc.rows = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: sc.main, Start: bound, Stop: "+inf", ByScore: true, Count: countedRows})
	}
	sc.after = sc.readMeta(ctx, pipe)
}

// sendTie asks how long the tie is that fills all rows. The shard must still be where it was.
func (sc *scan) sendTie(ctx context.Context, pipe redis.Pipeliner) {
	key := number(int64(sc.rows.Val()[0].Score))
	sc.tie, sc.after = pipe.ZCount(ctx, sc.main, key, key), sc.readMeta(ctx, pipe)
}

// full reports whether there may be more rows.
func (sc *scan) full() bool { return sc.rows != nil && len(sc.rows.Val()) == countedRows }

func (sc *scan) isTie() bool {
	return sc.full() && sc.rows.Val()[0].Score == sc.rows.Val()[countedRows-1].Score
}

// counts reads the answers.
func (sc *scan) counts(b *rankcore.Board) rankcore.Counts {
	c, err := sc.answer(b)
	if err != nil {
		return rankcore.Counts{Err: fmt.Errorf("counting shard %d of board %s: %w", sc.Shard, b.ID, err)}
	}
	return c
}

func (sc *scan) answer(b *rankcore.Board) (c rankcore.Counts, err error) {
	before, err := sc.before.Result()
	if err != nil {
		return c, err
	}
	after, err := sc.after.Result()
	if err != nil {
		return c, err
	}
	if created := text(before[0]); before[0] != nil && created != layout(b) {
		return c, notReady("it was created as " + created + ", the board is " + layout(b))
	}
	if c.At, err = rankcore.ParsePosition(text(before[1])); err != nil || c.At != sc.At {
		return c, err
	}
	if after[1] != before[1] {
		c.At, err = rankcore.ParsePosition(text(after[1]))
		return c, err
	}
	if sc.Season == "" {
		names, err := sc.names.Result()
		for _, name := range names {
			if season, ok := strings.CutPrefix(name, seasonField("")); ok {
				c.Seasons = append(c.Seasons, rankcore.SeasonID(season))
			}
		}
		return c, err
	}
	if c.Members, err = sc.members.Result(); err != nil {
		return c, err
	}
	recorded := int64(0)
	if before[2] != nil {
		if recorded, c.Changed, err = seasonMeta(text(before[2])); err != nil {
			return c, err
		}
	}
	if recorded != c.Members {
		return c, notReady("a season differs from meta")
	}
	return c, sc.count(&c)
}

// count puts the counts of the keys of which all rows are there. The last key of full rows may have more: it is left for
// the next question, or counted when all rows have it.
func (sc *scan) count(c *rankcore.Counts) error {
	rows, err := sc.rows.Result()
	if err != nil {
		return err
	}
	for i := range rows {
		key := int64(rows[i].Score)
		if n := len(c.Counts); n == 0 || c.Counts[n-1].Key != key {
			c.Counts = append(c.Counts, rankcore.KeyCount{Key: key})
		}
		c.Counts[len(c.Counts)-1].Count++
	}
	switch {
	case !sc.full():
		c.Ended = true
	case sc.tie != nil:
		c.Counts[0].Count, err = sc.tie.Result()
	default:
		c.Counts = c.Counts[:len(c.Counts)-1]
	}
	return err
}
