package degrade

import (
	"context"

	"rankgate/rankcore"
)

// Ranks answers from the core, or, when the last standing of every user asked for is remembered, with those: as old
// as the oldest; or, when all of them stand in the snapshot, with its. One missing makes the answer updating, since a
// hole would look like a user without a rank.
func (g *Guard) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	batch, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Standings, error) {
		return g.source.Ranks(ctx, q)
	})
	switch {
	case err == nil && batch.Status == rankcore.Partial:
		shown := settled(g, batch, g.lastBatch(q), g.snapshots.ranks(q), metaOfBatch)
		g.keepBatch(q, batch)
		return shown, nil
	case err == nil:
		g.keepBatch(q, batch)
		return batch, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	why := reasonOf(err)
	if shown := older(g, g.lastBatch(q), g.snapshots.ranks(q), metaOfBatch, why); shown != nil {
		return shown, nil
	}
	return &rankcore.Standings{Meta: updating(q.Season, why)}, nil
}

// keepBatch remembers each standing as if it had been asked for alone.
func (g *Guard) keepBatch(q rankcore.RanksQuery, batch *rankcore.Standings) {
	for i, st := range batch.Users {
		k := question{board: q.Board.ID, season: q.Season, user: q.Users[i]}
		if st != nil {
			g.standings.keep(k, st, batch.Meta)
		} else if batch.Status == rankcore.Fresh {
			g.standings.forget(k)
			g.snapshots.left(q.Board, q.Season, q.Users[i])
		}
	}
}

// lastBatch is nil when a standing is neither remembered nor in the snapshot.
func (g *Guard) lastBatch(q rankcore.RanksQuery) *rankcore.Standings {
	batch := &rankcore.Standings{Users: make([]*rankcore.Standing, len(q.Users))}
	for i, u := range q.Users {
		last, ok := g.standings.last(question{board: q.Board.ID, season: q.Season, user: u}, maxAge(q.Board))
		if !ok {
			last = g.snapshots.rank(rankcore.RankQuery{Board: q.Board, Season: q.Season, User: u})
		}
		if last == nil {
			return nil
		}
		if i == 0 || last.AsOf.Before(batch.AsOf) {
			batch.Meta = last.Meta
		}
		batch.Users[i] = last
	}
	return batch
}
