package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rankgate/rankcore"
)

// Top answers q from all shards: the first rows of each, merged. Every shard is seen at one moment between
// the call and its return, not all at the same one. For shards that do not answer the rows stand that they had when
// they last did, and the page is partial; without any live shard, or such rows, it is unavailable.
func (s *Store) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 2*s.readTimeout) // one to find out who does not answer, one for the others' second round
	defer cancel()
	n := q.Offset + q.Limit
	if q.Limit <= 0 {
		n = 0
	}
	r, err := s.first(ctx, q.Board, q.Season, n)
	if err != nil {
		return nil, err
	}
	if n > 0 {
		s.lastRows.keep(r, begun)
	}
	page := &rankcore.Page{Meta: r.standIns.mark(ctx, r.meta(begun))}
	if q.Limit > 0 && q.Offset < len(r.behind) {
		q.Board.Ties.SetRanks(r.behind, 0, 0)
		page.Entries = r.behind[q.Offset:]
	}
	return page, nil
}

// first gathers the first n rows. Where the counter knows where they stand, few shards are asked.
func (s *Store) first(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, n int) (*run, error) {
	if r := s.firstCounted(ctx, b, season, n); r != nil {
		return r, nil
	}
	r := newRun("top", b, season, rankcore.StartGap, n)
	r.standIns.allowed = true
	if err := s.gather(ctx, r, allShards(b)); err != nil {
		return nil, err
	}
	if r.standIns.shards > 0 && !r.enough() {
		return nil, unavailable(ctx, r.standIns.why) // what stands in does not reach that far
	}
	return r, nil
}

// Rows answers q from all shards, each seen at one moment, at the same cost at any depth: shards find a place by
// its score, and inside a long tie by halving it. Shards that do not answer are stood in for as in Top, where their rows
// are known as far as the page goes.
func (s *Store) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 2*s.readTimeout) // as in Top
	defer cancel()
	if q.Around != "" {
		if page, err := s.aroundCounted(ctx, q, begun); page != nil || err != nil {
			return page, err
		}
		return s.around(ctx, q, begun)
	}
	if page := s.rowsCounted(ctx, q, begun); page != nil {
		return page, nil
	}
	r := newRun("rows", q.Board, q.Season, q.Gap(), q.Limit+1) // one more tells whether there are more
	_, r.last = q.Board.Order.Keys(q.Within)
	r.standIns.allowed = true
	if err := s.gather(ctx, r, allShards(q.Board)); err != nil {
		return nil, err
	}
	if !r.reached() {
		return nil, unavailable(ctx, r.standIns.why)
	}
	page := &rankcore.Page{Meta: r.standIns.mark(ctx, r.meta(begun)), Entries: r.behind}
	if page.More = len(r.behind) > q.Limit; page.More {
		page.Entries = r.behind[:q.Limit]
	}
	if len(page.Entries) > 0 {
		before, _ := r.counts()
		better := before
		if q.Board.Order.Key(page.Entries[0].Score) == r.gap.Key {
			better = r.better()
		}
		q.Board.Ties.SetRanks(page.Entries, better, before)
	}
	return page, nil
}

// around asks the user's own shard first, which tells its score and has enough neighbours in the same reading.
// The others are asked about that place. If the user has moved when its shard must be asked again, all begins anew.
func (s *Store) around(ctx context.Context, q rankcore.RowsQuery, begun time.Time) (*rankcore.Page, error) {
	home := q.Board.Shard(q.Around)
	for range readTries {
		r := newRun("around", q.Board, q.Season, rankcore.Gap{User: q.Around}, q.Limit)
		r.center = q.Limit
		wide := r.about
		wide.back, wide.forth = q.Limit, q.Limit
		own := s.deep(ctx, q.Board, q.Season, wide, true, []int{home})[0]
		if errors.Is(own.err, rankcore.ErrNotRanked) {
			return nil, rankcore.ErrNotRanked
		}
		if own.err != nil {
			return nil, unavailable(ctx, own.err)
		}
		r.gap, r.slices[home] = own.value.at, own.value.slice
		half := shareOf(q.Limit/2+1, q.Board.Shards)
		r.back, r.forth = half, half
		r.standIns.allowed = true
		r.edgeOf = func(r *run) (int64, bool) {
			if len(r.before) == 0 {
				return r.gap.Key, true
			}
			return r.order.Key(r.before[len(r.before)-1].Score), true
		}
		if err := s.gather(ctx, r, slices.DeleteFunc(allShards(q.Board), func(shard int) bool { return shard == home })); err != nil {
			return nil, err
		}
		if !r.reached() {
			return nil, unavailable(ctx, r.standIns.why)
		}
		if len(r.behind) > 0 && r.behind[0].User == q.Around {
			return &rankcore.Page{Meta: r.standIns.mark(ctx, r.meta(begun)), Entries: r.centered()}, nil
		}
	}
	return nil, &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: fmt.Errorf("a user of board %s moved while its neighbours were read, %d times", q.Board.ID, readTries)}
}

// centered are the rows on both sides in order, with their ranks.
func (r *run) centered() []rankcore.Entry {
	before, _ := r.counts()
	entries := make([]rankcore.Entry, 0, len(r.before)+len(r.behind))
	for _, e := range slices.Backward(r.before) {
		entries = append(entries, e)
	}
	entries = append(entries, r.behind...)
	r.board.Ties.SetRanks(entries, r.below, before-int64(len(r.before)))
	return entries
}
