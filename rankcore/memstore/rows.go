package memstore

import (
	"context"
	"math"
	"slices"
	"strings"

	"rankgate/rankcore"
)

// Rows answers with rows from a place on, or around a user. Its cost grows with the rows, not with the place.
func (s *Store) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	bd, err := s.reading(ctx, q.Board)
	if err != nil {
		return nil, err
	}
	page, m := &rankcore.Page{}, bd.member(q.Around)
	err = bd.read(q.Season, func(v *view) error {
		page.Meta = v.Meta
		if q.Around == "" {
			page.Entries, page.More = v.behind(&q)
			return nil
		}
		at, ok := m.reached(q.Season)
		if !ok {
			return rankcore.ErrNotRanked
		}
		place := rankcore.Place{Score: at.score, Arrival: at.arrival, User: q.Around}
		page.Entries = v.around(v.order.GapBefore(place), q.Limit)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// top are limit ranked rows from offset on.
func (v *view) top(offset, limit int) []rankcore.Entry {
	if limit <= 0 || int64(offset) >= v.Total {
		return []rankcore.Entry{}
	}
	rows := v.from(rankcore.StartGap, math.MaxInt64).rows(offset + limit)[offset:]
	v.finish(rows, int64(offset))
	return rows
}

// behind are the rows that q asks for, and whether there are more of them.
func (v *view) behind(q *rankcore.RowsQuery) (rows []rankcore.Entry, more bool) {
	_, last := v.order.Keys(q.Within)
	run := v.from(q.Gap(), last)
	rows = run.rows(q.Limit)
	v.finish(rows, run.before)
	return rows, run.count > int64(len(rows))
}

// around are limit rows with the one behind the gap in their middle, or as near to it as the ends allow.
func (v *view) around(g rankcore.Gap, limit int) []rankcore.Entry {
	behind := v.from(g, math.MaxInt64)
	before := side{v: v, back: true, at: behind.at, before: behind.before, count: behind.before, last: math.MinInt64}
	back := int(min(int64(limit/2), before.count))
	forth := int(min(int64(limit-back), behind.count))
	back = int(min(int64(limit-forth), before.count))
	rows := before.rows(back)
	slices.Reverse(rows)
	rows = append(rows, behind.rows(forth)...)
	v.finish(rows, behind.before-int64(back))
	return rows
}

// finish gives rows their ranks, before rows standing before them, and names of their own.
func (v *view) finish(rows []rankcore.Entry, before int64) {
	if len(rows) == 0 {
		return
	}
	own(rows)
	v.ties.SetRanks(rows, v.counts.Above(v.order.Key(rows[0].Score)), before)
}

// side is the rows on one side of a gap.
type side struct {
	v      *view
	back   bool  // the rows before the gap, the nearest first
	at     []int // by part: members before the gap
	before int64 // their sum
	count  int64 // rows on this side
	last   int64 // no key of them is farther
}

// from are the rows behind a gap, up to the key last.
func (v *view) from(g rankcore.Gap, last int64) side {
	s := side{v: v, at: make([]int, len(v.parts)), last: last}
	if g != rankcore.StartGap {
		for i, p := range v.parts {
			s.at[i] = p.ranked.before(g)
			s.before += int64(s.at[i])
		}
	}
	through := v.Total
	if last < rankcore.MaxScore {
		through = v.counts.Above(last + 1)
	}
	s.count = max(through-s.before, 0)
	return s
}

// reach is the key of the n-th row of the side, so that no part is read farther.
func (s side) reach(n int) int64 {
	place := s.before + int64(n)
	if s.back {
		place = s.before - int64(n) + 1
	}
	key, ok := s.v.counts.Nth(place)
	if !ok { // not while there are n rows
		return s.last
	}
	return key
}

// rows merges the first n rows of the side. Members are spread evenly over shards, so about n/shards rows of
// each and a margin are enough; a part that has more of them up to the key of the last row is read on. Users are views
// of the arenas.
func (s side) rows(n int) []rankcore.Entry {
	n = int(min(int64(n), s.count))
	if n <= 0 {
		return nil
	}
	share := float64(n) / float64(len(s.v.parts))
	step, reach := min(n, int(share+4*math.Sqrt(share))+1), s.reach(n)
	lists, ended := make([][]rankcore.Entry, len(s.v.parts)), make([]bool, len(s.v.parts))
	room := make([]rankcore.Entry, step*len(lists)) // for what most parts need
	for i := range lists {
		lists[i] = room[i*step : i*step : (i+1)*step]
	}
	for merged := []rankcore.Entry(nil); ; {
		grown := false
		for i, list := range lists {
			if have := len(list); !ended[i] && (have == 0 || !s.beyond(list[have-1], merged, n)) {
				lists[i] = s.extend(i, list, step, reach)
				ended[i] = len(lists[i]) < have+step
				grown = true
			}
		}
		if !grown {
			return merged
		}
		merged = s.merge(lists, n)
	}
}

// extend appends by more rows of a part, as far as there are so many up to the key reach.
func (s side) extend(part int, list []rankcore.Entry, by int, reach int64) []rankcore.Entry {
	ranked, have := &s.v.parts[part].ranked, len(list)
	if !s.back {
		return ranked.entries(s.v.order, list, s.at[part]+have, by, math.MinInt64, reach)
	}
	by = min(by, s.at[part]-have)
	list = ranked.entries(s.v.order, list, s.at[part]-have-by, by, reach, math.MaxInt64)
	slices.Reverse(list[have:])
	return list
}

func (s side) merge(lists [][]rankcore.Entry, n int) []rankcore.Entry {
	if s.back {
		return rankcore.MergeBack(s.v.order, lists, n)
	}
	return rankcore.Merge(s.v.order, lists, n)
}

// beyond reports whether n rows are merged and none of them stands farther than e: then nothing after e can be
// among them.
func (s side) beyond(e rankcore.Entry, merged []rankcore.Entry, n int) bool {
	if len(merged) < n {
		return false
	}
	c := s.v.order.Compare(e, merged[n-1])
	return c >= 0 && !s.back || c <= 0 && s.back
}

// own gives rows names of their own, in one piece of memory: a page lives longer than what it was read from.
func own(rows []rankcore.Entry) {
	size := 0
	for _, r := range rows {
		size += len(r.User)
	}
	var all strings.Builder
	all.Grow(size)
	for _, r := range rows {
		all.WriteString(string(r.User))
	}
	names := all.String()
	for i, r := range rows {
		rows[i].User, names = rankcore.UserID(names[:len(r.User)]), names[len(r.User):]
	}
}
