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
	v.finish(rows, offset)
	return rows
}

// behind are the rows that q asks for, and whether there are more of them.
func (v *view) behind(q *rankcore.RowsQuery) (rows []rankcore.Entry, more bool) {
	_, last := v.order.Keys(q.Within)
	run := v.from(q.Gap(), last)
	rows = run.rows(q.Limit)
	v.finish(rows, total(run.at))
	return rows, total(run.room) > len(rows)
}

// around are limit rows with the one behind the gap in their middle, or as near to it as the ends allow.
func (v *view) around(g rankcore.Gap, limit int) []rankcore.Entry {
	behind := v.from(g, math.MaxInt64)
	before := side{v: v, back: true, at: behind.at, room: behind.at}
	back := min(limit/2, total(before.room))
	forth := min(limit-back, total(behind.room))
	back = min(limit-forth, total(before.room))
	rows := before.rows(back)
	slices.Reverse(rows)
	rows = append(rows, behind.rows(forth)...)
	v.finish(rows, total(behind.at)-back)
	return rows
}

// finish gives rows their ranks, before rows standing before them, and names of their own.
func (v *view) finish(rows []rankcore.Entry, before int) {
	if len(rows) == 0 {
		return
	}
	own(rows)
	key := v.order.Key(rows[0].Score)
	better, _ := v.below(key, key)
	v.ties.SetRanks(rows, better, int64(before))
}

// side is the rows on one side of a gap: by part, at members stand before the gap and room on this side of it.
type side struct {
	v        *view
	back     bool // the rows before the gap, the nearest first
	at, room []int
}

// from are the rows behind a gap, up to the key last.
func (v *view) from(g rankcore.Gap, last int64) side {
	s := side{v: v, at: make([]int, len(v.parts)), room: make([]int, len(v.parts))}
	for i, p := range v.parts {
		end := p.ranked.size
		if g != rankcore.StartGap {
			s.at[i] = p.ranked.before(g)
		}
		if last < rankcore.MaxScore {
			end = int(p.ranked.below(last + 1))
		}
		s.room[i] = max(end-s.at[i], 0)
	}
	return s
}

// rows merges the first n rows of the side. Members are spread evenly over shards, so about n/shards rows of
// each and a margin are enough; a shard whose rows all made it is read on. Users are views of the arenas.
func (s side) rows(n int) []rankcore.Entry {
	if n <= 0 {
		return nil
	}
	share := float64(n) / float64(len(s.v.parts))
	step := min(n, int(share+4*math.Sqrt(share))+1)
	lists := make([][]rankcore.Entry, len(s.v.parts))
	for merged := []rankcore.Entry(nil); ; {
		grown := false
		for i := range lists {
			have := len(lists[i])
			if have < min(n, s.room[i]) && (have == 0 || !s.beyond(lists[i][have-1], merged, n)) {
				lists[i] = s.extend(i, lists[i], min(step, s.room[i]-have))
				grown = true
			}
		}
		if !grown {
			return merged
		}
		merged = s.merge(lists, n)
	}
}

// extend appends by more rows of a part.
func (s side) extend(part int, list []rankcore.Entry, by int) []rankcore.Entry {
	p, have := s.v.parts[part], len(list)
	if !s.back {
		return p.ranked.entries(s.v.order, list, s.at[part]+have, by)
	}
	list = p.ranked.entries(s.v.order, list, s.at[part]-have-by, by)
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

func total(counts []int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
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
