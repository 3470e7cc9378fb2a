package redisstore

import (
	"context"

	"rankgate/rankcore"
)

// firstCounted gathers the first n rows from the shards in which the counter says they stand; where it only knows how far
// they reach, from all shards, none of which is asked for rows beyond. It is nil where that does not bring n rows, or a
// shard does not answer: then all shards are asked as if there were no counter.
//
// A shard that is not asked is taken by the counter's word: how many members it had, and that it had no row up to the
// last one's key, at a moment between the question and the answer. That is what a reading of it would say, and no weaker: it
// is the word that exact ranks rest on. The counter has taken in every step that was under way when it was asked, and all
// steps come from the process that it follows, which has heard each shard within its last two seconds. What it cannot
// know yet is that a shard was set back or emptied since then. Of such a shard a reading would show less than the log has, or
// nothing; the counter says what is in the log.
func (s *Store) firstCounted(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, n int) *run {
	if n == 0 {
		return nil
	}
	head, err := s.counter.Head(ctx, rankcore.HeadQuery{Board: b.ID, Season: season, Rows: int64(n + n/16 + 1)}) // some may leave before they are read
	if err != nil {
		return nil
	}
	r := newRun("top", b, season, rankcore.StartGap, n)
	r.last = head.Last
	ask := allShards(b)
	if len(head.Shards) == b.Shards {
		ask = r.takeHead(head)
	}
	if s.gather(ctx, r, ask) != nil || !r.enough() {
		return nil
	}
	return r
}

// takeHead takes the counter's word for shards without rows, and returns the others.
func (r *run) takeHead(head rankcore.Head) (ask []int) {
	most := int64(0)
	for shard, part := range head.Shards {
		if part.Rows > 0 {
			ask, most = append(ask, shard), max(most, part.Rows)
			continue
		}
		r.slices[shard] = slice{reading: reading{members: part.Members, changed: part.Changed}, forth: rows{all: true}}
	}
	r.forth = int(min(most+1, int64(r.wantForth))) // one more tells that there are no more
	return ask
}
