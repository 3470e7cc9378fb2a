package degrade

import (
	"context"
	"slices"

	"rankgate/rankcore"
)

// Ranks answers from the core. Of users it knows nothing of, the last standing stands in, or the snapshot's, and the answer
// is as old as the oldest; without either they are marked as unknown, since a hole would look like a user without a rank.
// The answer is updating when nothing is known of anybody.
func (g *Guard) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	batch, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Standings, error) {
		return g.source.Ranks(ctx, q)
	})
	switch {
	case err == nil && batch.Status == rankcore.Partial:
		last := g.lastBatch(q, batch.Reason)
		if last != nil && !last.Whole() {
			last = nil // it was not given before
		}
		shown := settled(g, g.filled(q, batch), last, g.snapshots.ranks(q), metaOfBatch)
		g.keepBatch(q, batch)
		return shown, nil
	case err == nil:
		g.keepBatch(q, batch)
		return batch, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	why := reasonOf(err)
	if shown := older(g, g.lastBatch(q, why), g.snapshots.ranks(q), metaOfBatch, why); shown != nil {
		return shown, nil
	}
	return &rankcore.Standings{Meta: updating(q.Season, why)}, nil
}

// keepBatch remembers each standing as if it had been asked for alone.
func (g *Guard) keepBatch(q rankcore.RanksQuery, batch *rankcore.Standings) {
	for i, st := range batch.Users {
		k := question{board: q.Board.ID, season: q.Season, user: q.Users[i]}
		if st.Known() {
			g.standings.keep(k, st, batch.Meta)
		} else if st == nil && batch.Status == rankcore.Fresh {
			g.standings.forget(k)
			g.snapshots.left(q.Board, q.Season, q.Users[i])
		}
	}
}

// lastBatch are the last standings of those users of whom one is known; nil when none is.
func (g *Guard) lastBatch(q rankcore.RanksQuery, why rankcore.Reason) *rankcore.Standings {
	batch, known := &rankcore.Standings{Users: make([]*rankcore.Standing, len(q.Users))}, false
	for i, u := range q.Users {
		last := g.lastOf(q, u)
		if last == nil {
			batch.Users[i] = rankcore.Unknown(u, q.Season, why)
			continue
		}
		if !known || last.AsOf.Before(batch.AsOf) {
			batch.Meta, known = last.Meta, true
		}
		batch.Users[i] = last
	}
	if !known {
		return nil
	}
	return batch
}

// filled is the batch with the last standings of users that the core knew nothing of.
func (g *Guard) filled(q rankcore.RanksQuery, batch *rankcore.Standings) *rankcore.Standings {
	m, users := batch.Meta, slices.Clone(batch.Users)
	for i, st := range users {
		if st == nil || st.Known() {
			continue
		}
		if last := g.lastOf(q, q.Users[i]); last != nil {
			users[i] = last
			if last.AsOf.Before(m.AsOf) {
				m.AsOf = last.AsOf
			}
		}
	}
	return (&rankcore.Standings{Users: users}).With(m)
}

// lastOf is where a user of a batch last stood, or nil.
func (g *Guard) lastOf(q rankcore.RanksQuery, u rankcore.UserID) *rankcore.Standing {
	if last, ok := g.standings.last(question{board: q.Board.ID, season: q.Season, user: u}, maxAge(q.Board)); ok {
		return last
	}
	return g.snapshots.rank(rankcore.RankQuery{Board: q.Board, Season: q.Season, User: u})
}
