package redisstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"rankgate/rankcore"
)

const (
	// mostStretched is how many rows are read for one page. Where long ties would make them more, each shard is asked
	// for its share, as if there were no counter.
	mostStretched = 4 * rankcore.MaxRows
	stretchTries  = 3 // shards may change on the way from the counter to them
)

// rowsCounted answers q from the rows that the counter names. It is nil where the counter does not know, a shard does not
// answer or keeps changing, or ties are long.
func (s *Store) rowsCounted(ctx context.Context, q rankcore.RowsQuery, begun time.Time) *rankcore.Page {
	gap, wanted := q.Gap(), q.Limit+1 // one more tells whether there are more
	_, last := q.Board.Order.Keys(q.Within)
	var page *rankcore.Page
	if gap == rankcore.StartGap && last == rankcore.MaxScore {
		if r := s.firstCounted(ctx, q.Board, q.Season, wanted); r != nil {
			q.Board.Ties.SetRanks(r.behind, 0, 0)
			page = &rankcore.Page{Meta: r.meta(begun), Entries: r.behind}
		}
	} else {
		page = s.stretch(ctx, q.Board, begun, rankcore.StretchQuery{
			Board: q.Board.ID, Season: q.Season, Key: max(gap.Key, -rankcore.MaxScore), End: last, Forth: int64(wanted),
		})
	}
	if page == nil {
		return nil
	}
	behind := func(e rankcore.Entry) bool { return gap.Precedes(q.Board.Order.Key(e.Score), e.Arrival, e.User) }
	from := slices.IndexFunc(page.Entries, behind)
	if from < 0 {
		from = len(page.Entries)
	}
	page.Entries = page.Entries[from:]
	if page.More = len(page.Entries) > q.Limit; page.More {
		page.Entries = page.Entries[:q.Limit]
	}
	return page
}

// aroundCounted answers q likewise. What the user's shard says of its score only tells where to look: if it has moved on
// since then, it is asked again.
func (s *Store) aroundCounted(ctx context.Context, q rankcore.RowsQuery, begun time.Time) (*rankcore.Page, error) {
	if s.counter == Counter(noCounter{}) {
		return nil, nil
	}
	for range stretchTries {
		own, err := s.score(ctx, rankcore.RankQuery{Board: q.Board, Season: q.Season, User: q.Around})
		switch {
		case errors.Is(err, rankcore.ErrNotRanked):
			return nil, err
		case err != nil:
			return nil, nil //nolint:nilerr // shards are asked, and say themselves when they cannot be reached
		}
		n := int64(q.Limit)
		page := s.stretch(ctx, q.Board, begun, rankcore.StretchQuery{
			Board: q.Board.ID, Season: q.Season, Key: q.Board.Order.Key(own.score), End: rankcore.MaxScore, Back: n, Forth: n,
		})
		if page == nil {
			return nil, nil
		}
		at := slices.IndexFunc(page.Entries, func(e rankcore.Entry) bool { return e.User == q.Around })
		if at < 0 {
			continue
		}
		before := page.Entries[0].Rank - 1 // the first one begins a tie
		from := max(min(before+int64(at)-n/2, page.Total-n), 0) - before
		page.Entries = page.Entries[from:min(from+n, int64(len(page.Entries)))]
		return page, nil
	}
	return nil, nil
}

// stretch is all rows between two keys that the counter names, ranked. Only rows are read: the counter knows how many
// members stand before them, and which message had last changed each shard when it said so. A shard that still says the
// same behind its rows has not changed in between, so that rows, ranks and total are all of the counter's moment. That
// there are as many rows as it counted holds both against each other.
func (s *Store) stretch(ctx context.Context, b *rankcore.Board, begun time.Time, q rankcore.StretchQuery) *rankcore.Page {
	for range stretchTries {
		st, err := s.counter.Stretch(ctx, q)
		if err != nil || len(st.Changed) != b.Shards || st.Rows > mostStretched {
			return nil
		}
		page := &rankcore.Page{Meta: rankcore.Meta{
			Season: q.Season, Status: rankcore.Fresh, AsOf: begun, Version: st.Version, Total: st.Total,
		}}
		if st.Rows == 0 {
			return page
		}
		page.Entries, err = s.stretchRows(ctx, b, q.Season, &st)
		switch {
		case err == nil:
			b.Ties.SetRanks(page.Entries, st.Before, st.Before)
			return page
		case !errors.Is(err, errChanged):
			return nil
		}
	}
	return nil
}

// stretchRows reads the rows of st from all shards.
func (s *Store) stretchRows(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, st *rankcore.Stretch) ([]rankcore.Entry, error) {
	asked := make([]told, b.Shards)
	for shard := range asked {
		asked[shard] = told{shard: shard, most: int(st.Rows) + 1, changed: st.Changed[shard]}
	}
	a := &about{order: b.Order, ties: b.Ties, gap: rankcore.Gap{Key: st.First}, last: st.Last}
	lists, found := make([][]rankcore.Entry, b.Shards), 0
	for shard, answer := range s.readTold(ctx, b, season, a, asked) {
		if answer.err != nil {
			return nil, answer.err
		}
		lists[shard] = answer.value.list
		found += len(lists[shard])
	}
	if int64(found) != st.Rows {
		return nil, notReady("there are other rows than were counted")
	}
	return rankcore.Merge(b.Order, lists, found), nil
}
