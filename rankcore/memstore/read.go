package memstore

import (
	"context"
	"time"

	"rankgate/rankcore"
)

// view is one season of all shards at one moment.
type view struct {
	rankcore.Meta
	*standings
	order rankcore.Order
	ties  rankcore.Ties
}

// read calls f with the season as it stands in all shards, which are held together so that totals, ranks
// and lists of one answer agree. f must not wait for anything.
func (bd *board) read(id rankcore.SeasonID, f func(v *view) error) error {
	bd.mu.RLock()
	defer bd.mu.RUnlock()
	for _, s := range bd.shards {
		if s.position.IsNone() {
			return &rankcore.Unavailable{Reason: rankcore.ShardRebuilding}
		}
	}
	all := bd.seasons[id]
	if all == nil {
		all = &standings{}
	}
	return f(&view{
		Meta:      rankcore.Meta{Season: id, Status: rankcore.Fresh, AsOf: time.Now(), Total: all.counts.Total(), Version: all.version()},
		standings: all, order: bd.def.Order, ties: bd.def.Ties,
	})
}

// newer orders positions of one log: by sequence, since its times may go back a little.
func newer(a, b rankcore.Position) bool {
	return a.Seq > b.Seq || a.Seq == b.Seq && a.Time > b.Time
}

// Top answers with the rows from q.Offset on. Its cost grows with Offset + Limit, not with the board.
func (s *Store) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	bd, err := s.reading(ctx, q.Board)
	if err != nil {
		return nil, err
	}
	page := &rankcore.Page{}
	err = bd.read(q.Season, func(v *view) error {
		page.Meta = v.Meta
		page.Entries = v.top(q.Offset, q.Limit)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// Rank answers where a user stands. Counting is cheap here, so Auto is answered exactly.
func (s *Store) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	bd, err := s.reading(ctx, q.Board)
	if err != nil {
		return nil, err
	}
	m := bd.member(q.User)
	standing := &rankcore.Standing{User: q.User}
	err = bd.read(q.Season, func(v *view) error {
		standing.Meta = v.Meta
		at, ok := m.reached(q.Season)
		if !ok {
			return rankcore.ErrNotRanked
		}
		standing.Score, standing.Arrival = at.score, at.arrival
		if q.Precision == rankcore.Approx {
			v.estimate(standing)
		} else {
			v.rank(standing)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return standing, nil
}

// Ranks answers where several users stand, all at one moment and exactly.
func (s *Store) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	bd, err := s.reading(ctx, q.Board)
	if err != nil {
		return nil, err
	}
	members := make([]member, len(q.Users))
	for i, u := range q.Users {
		members[i] = bd.member(u)
	}
	batch := &rankcore.Standings{Users: make([]*rankcore.Standing, len(q.Users))}
	err = bd.read(q.Season, func(v *view) error {
		batch.Meta = v.Meta
		for i, m := range members {
			if at, ok := m.reached(q.Season); ok {
				batch.Users[i] = &rankcore.Standing{Meta: v.Meta, User: q.Users[i], Score: at.score, Arrival: at.arrival}
				v.rank(batch.Users[i])
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return batch, nil
}

// member is a user and where to look for it, which is found out before the shards are held.
type member struct {
	home *shard
	hash uint32
	user rankcore.UserID
}

func (bd *board) member(u rankcore.UserID) member {
	home := bd.shards[bd.def.Shard(u)]
	return member{home, home.hash(u), u}
}

// reached is what the member has reached, false when it is not ranked. Its shard must be held.
func (m member) reached(id rankcore.SeasonID) (reached, bool) {
	se := m.home.seasons[id]
	if se == nil || se.all == nil {
		return reached{}, false
	}
	return se.reached(m.hash, m.user)
}

func (v *view) rank(st *rankcore.Standing) {
	better, tied := v.counts.Count(v.order.Key(st.Score))
	ahead := int64(0)
	if v.ties == rankcore.TiesFirst && tied > 1 {
		ahead = v.before(v.order.GapBefore(rankcore.Place{Score: st.Score, Arrival: st.Arrival, User: st.User})) - better
	}
	st.SetExact(v.ties, better, ahead, tied)
}

// before is how many members stand before a gap.
func (v *view) before(g rankcore.Gap) (count int64) {
	for _, p := range v.parts {
		count += int64(p.ranked.before(g))
	}
	return count
}

// estimate knows no more than the segment counts say, which the standings answer as well.
func (v *view) estimate(st *rankcore.Standing) {
	best, worst := v.order.Edges(rankcore.SegmentOf(st.Score))
	better, notWorse := v.counts.Above(v.order.Key(best)), v.counts.Above(v.order.Key(worst)+1)
	e := rankcore.EstimateRank(v.order, st.Score, better, notWorse-better)
	st.Precision = rankcore.Approx
	st.Rank, st.Low, st.High = e.Rank, e.Low, e.High
	worse := v.Total - e.Rank
	if best == worst && v.ties == rankcore.TiesShared { // all in the segment are tied
		worse = v.Total - e.High
	}
	st.Percentile = rankcore.Percentile(worse, v.Total)
}
