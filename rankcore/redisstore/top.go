package redisstore

import (
	"context"
	"math"
	"time"

	"rankgate/rankcore"
)

// Top answers q from all shards: the first rows of each, merged. Every shard is seen at one moment between
// the call and its return, not all at the same one.
//
// Users are spread evenly, so a shard holds few of the first n rows: each is asked for a little more than its
// share, one round trip for each node. A shard whose last row still stands before the n-th of all may hold more
// of them, and only such shards are asked again, for twice as many. Their second reading replaces the first, so
// each shard's rows are of one moment and the result is always the true top.
func (s *Store) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	n := q.Offset + q.Limit
	if q.Limit <= 0 {
		n = 0
	}
	tops := topRows{order: q.Board.Order, n: n, readings: make([]reading, q.Board.Shards), rows: make([][]rankcore.Entry, q.Board.Shards)}
	ask, k := allShards(q.Board), min(shareOf(n, q.Board.Shards), n)
	for len(ask) > 0 {
		readings, err := s.read(ctx, s.reads, topQuestion(q, k), ask)
		if err != nil {
			return nil, err
		}
		for i, shard := range ask {
			if err := tops.take(shard, readings[i]); err != nil {
				return nil, unavailable(ctx, err)
			}
		}
		ask, k = tops.short(k), min(2*k, n)
	}
	page := &rankcore.Page{Meta: meta(q.Season, begun, tops.readings)}
	if rows := tops.merged; q.Limit > 0 && q.Offset < len(rows) {
		rankcore.SetRanks(rows, 0, 0)
		page.Entries = rows[q.Offset:]
	}
	return page, nil
}

// topQuestion asks for the first k rows of a shard.
func topQuestion(q rankcore.TopQuery, k int) question {
	return question{name: "top", board: q.Board, season: q.Season, members: firstAnswer, ask: func(keys string) [][]any {
		commands := [][]any{{"ZCARD", keys + ":main"}}
		if k > 0 {
			commands = append(commands, []any{"ZRANGE", keys + ":main", 0, k - 1, "WITHSCORES"})
		}
		return commands
	}}
}

// shareOf is how many rows to ask each shard for: its even share of n and four standard deviations more, so
// that about one question in a hundred needs a second round.
func shareOf(n, shards int) int {
	share := float64(n) / float64(shards)
	return int(math.Ceil(share + 4*math.Sqrt(share) + 2))
}

// topRows are the first rows of each shard, as far as they were asked for.
type topRows struct {
	order    rankcore.Order
	n        int // rows wanted of all shards together
	readings []reading
	rows     [][]rankcore.Entry // by shard, in order
	merged   []rankcore.Entry   // the first n of them
}

func (t *topRows) take(shard int, r reading) error {
	var flat []any
	if len(r.answers) > 1 {
		flat, _ = r.answers[1].([]any)
	}
	rows := make([]rankcore.Entry, len(flat)/2)
	for i := range rows {
		key, err := keyOf(flat[2*i+1])
		if err != nil {
			return err
		}
		rows[i] = rankcore.Entry{User: rankcore.UserID(text(flat[2*i])), Score: t.order.Score(key)}
	}
	t.readings[shard], t.rows[shard] = r, rows
	return nil
}

// short merges the rows and tells which shards may hold more of the first n than the k they were asked for.
func (t *topRows) short(k int) []int {
	lists := make([][]rankcore.Entry, len(t.rows))
	copy(lists, t.rows)
	t.merged = rankcore.Merge(t.order, lists, t.n)
	if k >= t.n {
		return nil
	}
	var shards []int
	for shard, rows := range t.rows {
		if len(rows) == 0 || int64(len(rows)) == t.readings[shard].members {
			continue // that is all it has
		}
		if last := rows[len(rows)-1]; len(t.merged) < t.n || t.order.Compare(last, t.merged[t.n-1]) < 0 {
			shards = append(shards, shard)
		}
	}
	return shards
}
