package redisstore

import (
	"context"
	"slices"
	"time"

	"rankgate/rankcore"
)

// Ranks answers where several users stand. Their shards tell their scores, which are placed among the segment
// counts, at most the board's Freshness old. If some may stand in the head, the head is read as well, and their
// scores again in the same reading of each shard: whoever stands in it is answered exactly. Where a counter knows, whoever
// stands above the board's ExactDepth is, and no rows are read. Of users whose shard does not
// answer nothing is known, and the others are told.
//
// A count for each user over all shards would cost as much as reading thousands of rows.
func (s *Store) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	begun := time.Now()
	segments, err := s.segmentCounts(ctx, q.Board, q.Season)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	b := newBatch(q, segments)
	s.readScores(ctx, b)
	if len(b.away) == len(b.shards) {
		return nil, b.away[b.shards[0]]
	}
	if b.meta.Status == rankcore.Fresh && s.countBatch(ctx, b, begun) {
		return b.standings(), nil
	}
	for n := b.reach(); n > 0 && b.meta.Status == rankcore.Fresh; n = b.further(n) {
		if err := s.readHead(ctx, b, n, begun); err != nil {
			return nil, err
		}
	}
	return b.standings(), nil
}

// readScores reads the users' scores, each shard at one moment.
func (s *Store) readScores(ctx context.Context, b *batch) {
	b.readings = b.readings[:0]
	for i, a := range s.read(ctx, s.reads, b.question(), b.shards) {
		err := a.err
		b.readings = append(b.readings, a.value)
		if err == nil {
			err = b.take(b.shards[i], a.value, a.value.answers[1:])
		}
		if err != nil {
			b.miss(ctx, b.shards[i], err)
		}
	}
}

// batch is a question about several users being answered.
type batch struct {
	rankcore.RanksQuery
	segments *aggregate
	shards   []int     // of the users
	readings []reading // of these shards
	byShard  map[int][]rankcore.UserID
	own      map[rankcore.UserID]*ownScore // nil of users who are not ranked
	away     map[int]error                 // shards that did not answer
	head     *run                          // when it was read
	counted  map[rankcore.UserID]*rankcore.Standing
	meta     rankcore.Meta
}

func newBatch(q rankcore.RanksQuery, segments *aggregate) *batch {
	b := &batch{RanksQuery: q, segments: segments, byShard: map[int][]rankcore.UserID{}, own: map[rankcore.UserID]*ownScore{}, away: map[int]error{}, meta: segments.meta}
	for _, u := range q.Users {
		shard := q.Board.Shard(u)
		if list := b.byShard[shard]; !slices.Contains(list, u) {
			b.byShard[shard] = append(list, u)
		}
	}
	for shard := range b.byShard {
		b.shards = append(b.shards, shard)
	}
	slices.Sort(b.shards)
	return b
}

func (b *batch) question() question {
	return question{name: "scores", board: b.Board, season: b.Season, members: firstAnswer, ask: func(shard int, keys string) [][]any {
		return append([][]any{{"ZCARD", keys + ":main"}}, b.ask(shard, keys)...)
	}}
}

func (b *batch) ask(shard int, keys string) [][]any {
	return askScores(b.Board.Ties, keys, b.byShard[shard])
}

// take reads the answers to ask.
func (b *batch) take(shard int, r reading, answers []any) error {
	list, err := takeScores(b.Board, r, b.byShard[shard], answers)
	for i, own := range list {
		b.own[b.byShard[shard][i]] = own
	}
	return err
}

// miss notes that a shard did not answer: nothing is known of its users, and the batch is partial.
func (b *batch) miss(ctx context.Context, shard int, why error) {
	b.away[shard] = unavailable(ctx, why)
	b.meta = partial(ctx, b.meta, why)
}

// reach is how far down the head must be read to hold every user who may stand in it; 0 when none does.
func (b *batch) reach() int {
	deepest := int64(0)
	for u, own := range b.own {
		if own == nil {
			continue
		}
		if st := b.estimate(u, own); st.Low <= int64(b.Board.Head) {
			deepest = max(deepest, st.High)
		}
	}
	return int(min(deepest, int64(b.Board.Head)))
}

// further is how far down the head must be read after n rows of it: all the way when somebody who may stand in it has
// moved behind them since the segments were counted, else 0.
func (b *batch) further(n int) int {
	if b.head == nil || n == b.Board.Head || len(b.head.behind) < n {
		return 0
	}
	last := b.head.behind[n-1]
	for u, own := range b.own {
		if own != nil && b.Board.Ahead(last, own.entry(u)) && b.estimate(u, own).Low <= int64(b.Board.Head) {
			return b.Board.Head
		}
	}
	return 0
}

// estimate is where a user stands among the segment counts.
func (b *batch) estimate(u rankcore.UserID, own *ownScore) *rankcore.Standing {
	return b.segments.standing(rankcore.RankQuery{Board: b.Board, User: u}, own)
}

// readHead reads the first n rows, and all scores anew unless the counter knows that they still hold. Without the head,
// which needs every shard, the batch is partial.
func (s *Store) readHead(ctx context.Context, b *batch, n int, begun time.Time) error {
	if r := s.headCounted(ctx, b, n); r != nil {
		b.head, b.meta = r, r.meta(begun)
		return nil
	}
	r := newRun("scores", b.Board, b.Season, rankcore.StartGap, n)
	r.besides = b.ask
	r.edgeOf = func(r *run) (int64, bool) { // where the last row's tie ends
		if len(r.behind) == 0 {
			return 0, false
		}
		return r.order.Key(r.behind[len(r.behind)-1].Score) + 1, true
	}
	if err := s.gather(ctx, r, allShards(b.Board)); err != nil {
		b.meta = partial(ctx, b.meta, err)
		return ctx.Err()
	}
	for shard := range r.slices {
		if err := b.take(shard, r.slices[shard].reading, r.slices[shard].answers); err != nil {
			return unavailable(ctx, err)
		}
	}
	b.head, b.meta = r, r.meta(begun)
	return nil
}

// headCounted reads the first n rows from the shards in which the counter knows them. It is nil where the counter does not
// know, or when a shard has changed since the scores were read.
func (s *Store) headCounted(ctx context.Context, b *batch, n int) *run {
	r := s.firstCounted(ctx, b.Board, b.Season, n)
	if r == nil || len(r.behind) == 0 {
		return nil
	}
	end := r.order.Key(r.behind[len(r.behind)-1].Score)
	tie, err := s.counter.Stretch(ctx, rankcore.StretchQuery{Board: b.Board.ID, Season: b.Season, Key: end, End: end, Forth: 1})
	if err != nil || len(tie.Changed) != len(r.slices) {
		return nil
	}
	for shard, changed := range tie.Changed {
		if r.slices[shard].changed != changed {
			return nil
		}
	}
	for i, shard := range b.shards {
		if b.readings[i].changed != tie.Changed[shard] {
			return nil
		}
	}
	r.below = tie.Before + tie.Rows
	return r
}

func (b *batch) standings() *rankcore.Standings {
	list := make([]*rankcore.Standing, len(b.Users))
	for i, u := range b.Users {
		own := b.own[u]
		if b.away[b.Board.Shard(u)] != nil {
			list[i] = rankcore.Unknown(u, b.Season, b.meta.Reason)
			continue
		}
		if own == nil {
			continue
		}
		st := b.counted[u]
		if st == nil {
			st = b.exact(u, own)
		}
		if st == nil {
			st = b.estimate(u, own)
			// Counts may be older than scores, and the answer is as old as the oldest part of it.
			if b.segments.meta.AsOf.Before(b.meta.AsOf) {
				b.meta.AsOf = b.segments.meta.AsOf
			}
			b.meta.Total = max(b.meta.Total, st.Meta.Total)
		}
		list[i] = st
	}
	for _, st := range list {
		if st.Known() {
			st.Meta = b.meta
		}
	}
	return &rankcore.Standings{Meta: b.meta, Users: list}
}

// exact is where a user stands if the head shows it, else nil.
func (b *batch) exact(u rankcore.UserID, own *ownScore) *rankcore.Standing {
	if b.head == nil || len(b.head.behind) == 0 {
		return nil
	}
	rows, o, score := b.head.behind, b.Board.Order, own.score
	at := own.entry(u)
	if b.Board.Ahead(rows[len(rows)-1], at) {
		return nil
	}
	better, _ := slices.BinarySearchFunc(rows, score, func(e rankcore.Entry, s rankcore.Score) int {
		if o.Better(e.Score, s) {
			return -1
		}
		return 1
	})
	notWorse := b.head.below
	for i := better; i < len(rows); i++ {
		if rows[i].Score != score {
			notWorse = int64(i)
			break
		}
	}
	ahead, _ := slices.BinarySearchFunc(rows[better:], at, o.Compare)
	st := &rankcore.Standing{Meta: b.meta, User: u, Score: score, Arrival: own.arrival}
	st.SetExact(b.Board.Ties, int64(better), int64(ahead), notWorse-int64(better))
	return st
}
