package redisstore

import (
	"context"
	"time"

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
		var ok bool
		if ask, ok = s.takeHead(ctx, r, head); !ok {
			return nil
		}
	}
	if s.gather(ctx, r, ask) != nil || !r.enough() {
		return nil
	}
	return r
}

// takeHead takes the counter's word for shards without rows, and asks the others for the rows that it knows of. It returns
// those of which this is not enough, as they have changed since, or have other rows than they should; it is not ok when
// one does not answer.
func (s *Store) takeHead(ctx context.Context, r *run, head rankcore.Head) (ask []int, ok bool) {
	var asked []told
	most, sum := int64(0), int64(0)
	for shard, part := range head.Shards {
		if part.Rows > 0 {
			asked = append(asked, told{shard: shard})
			most, sum = max(most, part.Rows), sum+part.Rows
			continue
		}
		r.slices[shard] = slice{reading: reading{members: part.Members, changed: part.Changed}, forth: rows{all: true}}
	}
	share := min(most, int64(r.wantForth))
	if sum > 2*int64(r.wantForth) { // the last tie is long
		share = min(share, int64(shareOf(r.wantForth, len(asked))))
	}
	r.forth = int(share) + 1 // one more tells that there are no more
	for i := range asked {
		asked[i].most = int(min(share, head.Shards[asked[i].shard].Rows)) + 1
	}
	for i, a := range s.readTold(ctx, r.board, r.season, &r.about, asked) {
		shard := asked[i].shard
		part := head.Shards[shard]
		if a.err != nil {
			return nil, false
		}
		if a.value.changed != part.Changed || int64(len(a.value.list)) != min(int64(asked[i].most), part.Rows) {
			ask = append(ask, shard)
			continue
		}
		r.slices[shard] = slice{reading: reading{members: part.Members, changed: part.Changed}, forth: a.value.rows}
		s.lastRows.saw(seasonKey{r.board.ID, r.season}, shard, part.Changed, time.Now())
	}
	return ask, true
}
