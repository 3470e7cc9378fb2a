package redisstore

import (
	"context"
	"time"

	"rankgate/rankcore"
)

// batchTries bounds how often scores are read again because steps came before the counter had counted.
const batchTries = 3

// countBatch asks the counter, which tells all of one moment, where the users stand who are to be answered exactly. It is
// false where the counter cannot tell, or cannot of somebody who may stand in the head: then the head is to be read. Others
// of whom it cannot tell are estimated, as are those who stand too far down.
func (s *Store) countBatch(ctx context.Context, b *batch, begun time.Time) bool {
	for try := 1; ; try++ {
		users, inHead := b.due()
		q := rankcore.PlacesQuery{Board: b.Board.ID, Season: b.Season, Keys: make([]int64, len(users))}
		for i, u := range users {
			q.Keys[i] = b.Board.Order.Key(b.own[u].score)
		}
		if len(users) == 0 {
			return false
		}
		for i, shard := range b.shards {
			q.Seen = append(q.Seen, rankcore.Seen{Shard: shard, Changed: b.readings[i].changed})
		}
		places, err := s.counter.Places(ctx, q)
		if err != nil || len(places.Changed) != b.Board.Shards {
			return false
		}
		m := rankcore.Meta{Season: b.Season, Status: rankcore.Fresh, AsOf: begun, Version: places.Version, Total: places.Total}
		counted, left, headless := b.count(users, inHead, places, m)
		if left == 0 || try == batchTries {
			if !headless {
				b.counted, b.meta = counted, m
			}
			return !headless
		}
		if s.readScores(ctx, b); len(b.away) > 0 {
			return false
		}
	}
}

// due are the users whom auto answers exactly, and which of them may stand in the head.
func (b *batch) due() (users []rankcore.UserID, inHead []bool) {
	head := int64(b.Board.Head)
	for u, own := range b.own {
		if own == nil {
			continue
		}
		if low := b.estimate(u, own).Low; low <= max(head, b.Board.ExactDepth) {
			users, inHead = append(users, u), append(inHead, low <= head)
		}
	}
	return users, inHead
}

// count is the ranks that places tell of users, called m. It tells how many are left, whose shards have changed since they were
// read, and whether one without a rank may stand in the head. Who came first in a tie the counter does not know.
func (b *batch) count(users []rankcore.UserID, inHead []bool, places rankcore.Places, m rankcore.Meta) (counted map[rankcore.UserID]*rankcore.Standing, left int, headless bool) {
	counted = make(map[rankcore.UserID]*rankcore.Standing, len(users))
	for i, u := range users {
		own := b.own[u]
		changed := own.changed != places.Changed[b.Board.Shard(u)]
		if changed || b.Board.Ties == rankcore.TiesFirst && places.Tied[i] > 1 {
			headless = headless || inHead[i]
			if changed {
				left++
			}
			continue
		}
		st := &rankcore.Standing{Meta: m, User: u, Score: own.score, Arrival: own.arrival}
		st.SetExact(b.Board.Ties, places.Before[i], 0, places.Tied[i])
		counted[u] = st
	}
	return counted, left, headless
}
