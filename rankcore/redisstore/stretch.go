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
	stretchTries  = 4 // shards may change while they are read
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
// members stand before them, and of each shard either that it is as it was read or that at least none of these rows has
// changed since, so that rows, ranks and total are all of the counter's moment. Shards of which it knows neither are read
// again. That there are as many rows as it counted holds both against each other.
func (s *Store) stretch(ctx context.Context, b *rankcore.Board, begun time.Time, q rankcore.StretchQuery) *rankcore.Page {
	var read *stretchRead
	for range stretchTries {
		if read != nil {
			q.Seen = read.known()
		}
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
		if read == nil || st.First < read.First || read.Last < st.Last {
			read = &stretchRead{Stretch: st, board: b, season: q.Season, shards: make([]shardRead, b.Shards)}
		}
		whole, err := s.readStretch(ctx, read, &st)
		if err != nil {
			return nil
		}
		if !whole {
			continue
		}
		if page.Entries = read.between(st.First, st.Last); int64(len(page.Entries)) != st.Rows {
			return nil
		}
		b.Ties.SetRanks(page.Entries, st.Before, st.Before)
		return page
	}
	return nil
}

// stretchRead is what has been read of a stretch.
type stretchRead struct {
	rankcore.Stretch
	board  *rankcore.Board
	season rankcore.SeasonID
	shards []shardRead // by number
}

// shardRead is the rows of one shard when changed was the message that had last changed the season there.
type shardRead struct {
	list    []rankcore.Entry
	known   bool // that the rows are of that moment
	changed rankcore.Position
}

// known is the shards whose rows are.
func (r *stretchRead) known() (seen []rankcore.Seen) {
	for shard, sh := range r.shards {
		if sh.known {
			seen = append(seen, rankcore.Seen{Shard: shard, Changed: sh.changed})
		}
	}
	return seen
}

// readStretch reads the rows of shards that are not known as st has them. It reports whether all are now.
func (s *Store) readStretch(ctx context.Context, r *stretchRead, st *rankcore.Stretch) (whole bool, err error) {
	var ask []told
	for shard := range r.shards {
		if sh := &r.shards[shard]; !sh.known || sh.changed != st.Changed[shard] {
			ask = append(ask, told{shard: shard, most: int(max(r.Rows, st.Rows)) + 1})
			sh.changed, sh.known = st.Changed[shard], false
		}
	}
	a := &about{order: r.board.Order, ties: r.board.Ties, gap: rankcore.Gap{Key: r.First}, last: r.Last}
	whole = true
	for range 2 { // who has changed meanwhile seldom does so again at once
		var again []told
		for i, answer := range s.readTold(ctx, r.board, r.season, a, ask) {
			if answer.err != nil {
				return false, answer.err
			}
			sh := &r.shards[ask[i].shard]
			if sh.known = answer.value.changed == sh.changed; !sh.known { // it changed before its rows were read, or after that
				sh.changed, whole = answer.value.changed, false
				again = append(again, ask[i])
			}
			sh.list = answer.value.list
		}
		if ask = again; len(ask) == 0 {
			break
		}
	}
	return whole, nil
}

// between is the rows between two keys, both included, of all shards.
func (r *stretchRead) between(first, last int64) []rankcore.Entry {
	lists, n := make([][]rankcore.Entry, len(r.shards)), 0
	for shard := range r.shards {
		list := slices.DeleteFunc(r.shards[shard].list, func(e rankcore.Entry) bool {
			key := r.board.Order.Key(e.Score)
			return key < first || last < key
		})
		lists[shard], n = list, n+len(list)
	}
	return rankcore.Merge(r.board.Order, lists, n)
}
